import { cpSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { readGatewayConfig } from '../../../gateway/config/read-gateway-config.ts'

const SHIPPED = resolve(import.meta.dirname, '../../../config')
const ISSUER = 'https://login.test/tenant'
const INTROSPECTION = {
  endpoint: 'https://login.test/introspect',
  clientId: 'gw',
  clientSecretFile: './secret',
}

const EVENTS = { securityEvents: { audience: ['https://api.test/events'] } }

function read(t: Pick<Test, 'testdir'>, issuers: readonly object[], change: object = {}) {
  const dir = t.testdir({ secret: 'the secret\n' })
  for (const file of ['upstreams.yaml', 'scopes.yaml']) cpSync(join(SHIPPED, file), join(dir, file))
  const file = {
    baseUrl: 'https://api.test',
    name: 'API',
    listen: { host: '127.0.0.1', port: 0 },
    management: { host: '127.0.0.1', port: 0 },
    policies: '.',
    scopes: './scopes.yaml',
    upstreams: './upstreams.yaml',
    issuers,
    ...change,
  }
  writeFileSync(join(dir, 'gateway.yaml'), stringify(file))
  return readGatewayConfig({ configDir: dir, env: {} }).config
}

t.test('an issuer of RFC 9068 tokens needs only the setting jwt: {}', async (t) => {
  const { issuers, dataDir } = read(t, [{ issuer: ISSUER, jwt: {} }], { dataDir: './data' })
  t.match(dataDir, /^\/.*\/data$/)
  t.same(issuers, [
    {
      issuer: ISSUER,
      jwt: {
        algorithms: ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'],
        type: 'at+jwt',
        keys: { by: 'discovery' },
        refreshMs: 300_000,
        cooldownMs: 30_000,
        maxStaleMs: 43_200_000,
        timeoutMs: 3_000,
        audience: [],
        claims: { scope: ['scope', 'scp'], client: ['client_id', 'azp', 'appid', 'cid'], subject: 'sub' },
        clockToleranceSeconds: 60,
        maxRevocationDelayMs: undefined,
      },
      introspection: undefined,
      revocations: undefined,
      staleIfErrorMs: 60_000,
    },
  ])
})

t.test('readGatewayConfig() returns every key of an issuer', async (t) => {
  const jwt = {
    algorithms: ['RS256'],
    type: 'JWT',
    keys: { uri: 'https://keys.test/keys' },
    refresh: '1m',
    cooldown: '10s',
    maxStale: '1h',
    timeout: '1s',
    audience: ['api://name'],
    claims: { scope: ['roles'], subject: 'oid' },
    clockTolerance: '5s',
    maxRevocationDelay: '15s',
  }
  const { issuers } = read(t, [
    { issuer: ISSUER, jwt, ...STREAM },
    { issuer: 'https://other.test/', jwt: { keys: { file: './keys.json' } } },
  ])
  t.match(issuers[0], {
    jwt: {
      algorithms: ['RS256'],
      type: 'JWT',
      keys: { by: 'uri', uri: 'https://keys.test/keys' },
      refreshMs: 60_000,
      cooldownMs: 10_000,
      maxStaleMs: 3_600_000,
      timeoutMs: 1_000,
      audience: ['api://name'],
      claims: { scope: ['roles'], client: ['client_id', 'azp', 'appid', 'cid'], subject: 'oid' },
      clockToleranceSeconds: 5,
      maxRevocationDelayMs: 15_000,
    },
    introspection: { clientSecret: 'the secret' },
  })
  t.match(issuers[1], { jwt: { keys: { by: 'file', file: /^\/.*\/keys\.json$/ } } })
})

const jwt = (change: object) => [{ issuer: ISSUER, jwt: change }]

const STREAM = { introspection: INTROSPECTION, revocations: 'https://login.test/revocations' }

/** An issuer with a key URL that uses http. The key URL has the same origin as the introspection endpoint. */
const KEYS_OVER_HTTP = {
  issuer: 'https://api.test',
  jwt: { keys: { uri: 'http://as.test:8081/keys' } },
  introspection: { ...INTROSPECTION, endpoint: 'http://as.test:8081/introspect' },
}

const REJECTED: readonly (readonly [what: string, issuers: readonly object[], message: RegExp])[] = [
  ['no issuer', [], /issuers/],
  [
    'the same issuer twice',
    [
      { issuer: ISSUER, jwt: {} },
      { issuer: ISSUER, jwt: {} },
    ],
    /C330[\s\S]*is already defined in issuers\[0\][\s\S]*merge the two entries/,
  ],
  ['an issuer without a validation method', [{ issuer: ISSUER }], /C331[\s\S]*jwt: \{\}/],
  [
    'revocations without introspection',
    [{ issuer: ISSUER, jwt: {}, revocations: 'https://login.test/r' }],
    /C332[\s\S]*add introspection/,
  ],
  [
    'HS256',
    jwt({ algorithms: ['ES256', 'HS256'] }),
    /C333[\s\S]*algorithms\[1\][\s\S]*symmetric[\s\S]*ES256/,
  ],
  ['HS512', jwt({ algorithms: ['HS512'] }), /C333[\s\S]*symmetric/],
  ['none', jwt({ algorithms: ['none'] }), /C333[\s\S]*without a signature/],
  ['None', jwt({ algorithms: ['None'] }), /C333[\s\S]*without a signature/],
  ['a misspelt algorithm', jwt({ algorithms: ['ES265'] }), /C333[\s\S]*did you mean ES256/],
  ['an algorithm for encryption', jwt({ algorithms: ['RSA-OAEP'] }), /C333[\s\S]*RSA-OAEP/],
  ['no algorithm', jwt({ algorithms: [] }), /algorithms/],
  ['an unknown type', jwt({ type: 'id_token' }), /not one of at\+jwt, JWT, any/],
  [
    'a CA file for an issuer without connections',
    [{ issuer: 'https://login.test', caFile: './ca.pem', jwt: { keys: { file: './keys.json' } } }],
    /C339[\s\S]*never connects[\s\S]*\^ remove caFile/,
  ],
  ['two sources of keys', jwt({ keys: { uri: 'https://a.test', file: './x' } }), /C334/],
  ['keys at a URL of the gateway itself', [{ issuer: 'https://api.test', jwt: {} }], /C335[\s\S]*keys\.uri/],
  ['an issuer over http', [{ issuer: 'http://login.test', jwt: {} }], /C336[\s\S]*https/],
  ['an issuer over http at a private address', [{ issuer: 'http://10.0.0.7:8080', jwt: {} }], /C336/],
  ['keys over http', jwt({ keys: { uri: 'http://login.test/keys' } }), /C336[\s\S]*keys\.uri/],
  [
    'keys over http at another origin than introspection',
    [
      {
        issuer: 'https://api.test',
        jwt: { keys: { uri: 'http://as.test:8082/keys' } },
        introspection: { ...INTROSPECTION, endpoint: 'http://as.test:8081/introspect' },
      },
    ],
    /C336[\s\S]*keys\.uri/,
  ],
  [
    'keys over http for signed introspection',
    [{ ...KEYS_OVER_HTTP, introspection: { ...KEYS_OVER_HTTP.introspection, signed: true } }],
    /C336[\s\S]*keys\.uri/,
  ],
  ['keys over http for security events', [{ ...KEYS_OVER_HTTP, ...EVENTS }], /C336[\s\S]*keys\.uri/],
  [
    'a revocation delay below 15 s',
    [{ issuer: ISSUER, jwt: { maxRevocationDelay: '14s' }, ...STREAM }],
    /C338[\s\S]*maxRevocationDelay[\s\S]*set 15s or more/,
  ],
  [
    'a revocation delay without a channel',
    jwt({ maxRevocationDelay: '1m' }),
    /C338[\s\S]*maxRevocationDelay[\s\S]*set revocations or redis\.url/,
  ],
  ['a tolerance above one minute', jwt({ clockTolerance: '61s' }), /C337[\s\S]*60s/],
  ['a tolerance of half a second', jwt({ clockTolerance: '500ms' }), /C337/],
  ['a refresh interval below the minimum', jwt({ refresh: '100ms' }), /C338[\s\S]*jwt\.refresh/],
  ['no cool-down', jwt({ cooldown: '1ms' }), /C338[\s\S]*jwt\.cooldown/],
  ['a maxStale below the refresh interval', jwt({ refresh: '2h', maxStale: '1h' }), /C338[\s\S]*maxStale/],
  [
    'signed introspection without keys',
    [{ issuer: ISSUER, introspection: { ...INTROSPECTION, signed: true } }],
    /C329[\s\S]*add jwt/,
  ],
  [
    'events without keys',
    [{ issuer: ISSUER, introspection: INTROSPECTION, ...EVENTS }],
    /C346[\s\S]*add jwt/,
  ],
  [
    'events with another subject name than tokens',
    [{ issuer: ISSUER, jwt: { claims: { subject: 'oid' } }, ...EVENTS }],
    /C346[\s\S]*oid/,
  ],
  ['events with an empty audience', [{ issuer: ISSUER, jwt: {}, securityEvents: { audience: [] } }], /C106/],
  ['an unknown key', jwt({ algorithm: 'ES256' }), /algorithms/],
  [
    'a missing secret',
    [{ issuer: ISSUER, jwt: {}, introspection: { ...INTROSPECTION, clientSecretFile: './no' } }],
    /C302[\s\S]*issuers\[0\]/,
  ],
]

for (const [what, issuers, message] of REJECTED)
  t.test(`readGatewayConfig() rejects ${what} and suggests a correction`, async (t) => {
    t.throws(() => read(t, issuers), { code: 'ERR_CONFIG_INVALID', exitCode: 3, message })
  })

t.test('http is accepted for local addresses, and keys from a file under any issuer URL', async (t) => {
  t.ok(read(t, [{ issuer: 'http://127.0.0.1:8180/realms/main', jwt: {} }]))
  t.ok(read(t, [{ issuer: 'https://api.test', jwt: { keys: { uri: 'http://127.0.0.1:8081/keys' } } }]))
  t.ok(read(t, [{ issuer: 'http://in-the-cluster:8080', jwt: { keys: { file: './keys.json' } } }]))
  t.ok(read(t, [KEYS_OVER_HTTP]), 'the same origin')
})

t.test('maxRevocationDelay requires introspection and a revocation channel', async (t) => {
  const jwt = { maxRevocationDelay: '1m' }
  const redis = { url: 'redis://127.0.0.1' }
  t.ok(read(t, [{ issuer: ISSUER, jwt, introspection: INTROSPECTION }], { redis }))
  t.throws(() => read(t, [{ issuer: ISSUER, jwt }], { redis }), {
    exitCode: 3,
    message: /C338[\s\S]*maxRevocationDelay[\s\S]*set introspection/,
  })
})

t.test('securityEvents requires a single process, or processes that share a Redis', async (t) => {
  const issuers = [{ issuer: ISSUER, jwt: {}, ...EVENTS }]
  t.match(read(t, issuers).issuers, [EVENTS])
  t.match(read(t, issuers, { workers: 2, redis: { url: 'redis://127.0.0.1' } }).issuers, [EVENTS])
  for (const workers of [2, 'auto'])
    t.throws(() => read(t, issuers, { workers }), { exitCode: 3, message: /C346[\s\S]*redis\.url/ })
})
