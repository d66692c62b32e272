import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readAuthorizationServerConfig } from '../../authorization-server/config.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const shipped = join(findPackageRoot(), 'config')

t.test('readAuthorizationServerConfig() reports all problems together', async (t) => {
  const env = {
    SCOPEGATE_ISSUER: 'https://login.example.com/',
    SCOPEGATE_LISTEN__PORT: '70000',
    SCOPEGATE_STORE__TYPE: 'memory',
    SCOPEGATE_LIFETIMES__CODE: 'soon',
    SCOPEGATE_REGISTRATION__REDIRECT_URIS__LOOPBACK__0: '0.0.0.0',
  }
  t.throws(() => readAuthorizationServerConfig({ configDir: shipped, env }), {
    code: 'ERR_CONFIG_INVALID',
    exitCode: 3,
  })
  try {
    readAuthorizationServerConfig({ configDir: shipped, env })
  } catch (error) {
    for (const name of Object.keys(env)) t.match(String(error), name)
  }
})

t.test('readAuthorizationServerConfig() accepts resources only as paths below the issuer', async (t) => {
  const read = (resources: string) =>
    readAuthorizationServerConfig({ configDir: shipped, env: { SCOPEGATE_PROTECTED_RESOURCES: resources } })
      .config.resources
  t.same(read('[/mcp, /]'), ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/mcp'])
  for (const bad of [
    '[mcp]',
    '[/mcp/]',
    '["https://other.example/mcp"]',
    '["/{x}"]',
    '[/mcp, /mcp]',
    '[/a/../b]',
  ])
    t.throws(() => read(bad), { exitCode: 3, message: /SCOPEGATE_PROTECTED_RESOURCES/ }, bad)
})

t.test('readAuthorizationServerConfig() rejects unknown keys with their location', async (t) => {
  const configDir = aFolder(t, 'lifetime: { code: 60s }\n')
  t.throws(() => readAuthorizationServerConfig({ configDir, env: {} }), { message: /unknown key .*lifetime/ })
})

t.test('readAuthorizationServerConfig() rejects contradictory settings', async (t) => {
  const cases: readonly [Record<string, string>, RegExp][] = [
    [{ SCOPEGATE_LIFETIMES__REFRESH_TOKEN_MAX: '1d' }, /refreshTokenMax is shorter/],
    [{ SCOPEGATE_LIFETIMES__CODE: '10ms' }, /lifetimes\.code is shorter than a second/],
    [{ SCOPEGATE_STORE__TYPE: 'redis' }, /redis is not set/],
    [{ REDIS_URL: 'redis://127.0.0.1/' }, /store\.type is sqlite: .* no tokens or revocations to Redis/],
    [{ SCOPEGATE_REGISTRATION__UNUSED_CLIENTS: '0s' }, /unusedClients/],
    [{ SCOPEGATE_REGISTRATION__RATE_LIMIT__WINDOW: '10ms' }, /rateLimit\.window is shorter than a second/],
    [{ SCOPEGATE_REGISTRATION__RATE_LIMIT__PER_ADDRESS: '0' }, /perAddress/],
    [
      { SCOPEGATE_AUTHORIZATION__RATE_LIMIT__WINDOW: '10ms' },
      /authorization\.rateLimit\.window is shorter than a second/,
    ],
    [{ SCOPEGATE_COMPAT__DEFAULT_SCOPE: 'openid no:such' }, /compat\.defaultScope: scope "no:such" is not/],
    [
      { SCOPEGATE_REFRESH_TOKENS__REPEAT_WINDOW: '60s', SCOPEGATE_LIFETIMES__ACCESS_TOKEN: '60s' },
      /C301.*refreshTokens\.repeatWindow must be shorter than lifetimes\.accessToken/,
    ],
    [{ SCOPEGATE_AUTHORIZATION__PENDING__TOTAL: '199' }, /pending\.total is less than .*pending\.perAddress/],
  ]
  for (const [env, message] of cases)
    t.throws(() => readAuthorizationServerConfig({ configDir: shipped, env }), { message, exitCode: 3 })
  const configDir = aFolder(
    t,
    'integrations: [{ clientId: gateway, clientName: Twice, redirectUris: [https://app.example.com/callback] }]\n',
  )
  t.throws(() => readAuthorizationServerConfig({ configDir, env: {} }), {
    message: /two clients have the id gateway/,
  })
})

t.test('readAuthorizationServerConfig() reads the shipped file and returns seconds and bytes', async (t) => {
  const { config, warnings } = readAuthorizationServerConfig({ configDir: shipped, env: {} })
  t.same(warnings, [])
  t.equal(config.catalogue.size, 38)
  t.equal(config.development, false)
  t.same(config.lifetimes, {
    codeSeconds: 60,
    accessTokenSeconds: 900,
    refreshTokenSeconds: 2_592_000,
    refreshTokenMaxSeconds: 7_776_000,
    sessionSeconds: 1_209_600,
  })
  t.same(config.accessTokens, { format: 'opaque', algorithm: 'ES256', resources: new Map() })
  t.same(config.refreshTokens, { repeatWindowSeconds: 30 })
  t.same(config.registration, {
    loopbackHosts: ['127.0.0.1'],
    bodyLimitBytes: 16_384,
    documentHosts: [],
    unusedClientSeconds: 604_800,
    rateLimit: { perAddress: 300, windowMs: 600_000 },
  })
  t.same(config.authorization, {
    rateLimit: { perAddress: 600, windowMs: 600_000 },
    pending: { perAddress: 200, total: 10_000 },
  })
  t.same(config.consent, { rememberSeconds: 0, includesLocalApps: false })
  t.same(config.compat, { defaultScope: undefined, optionalState: false, loopbackRedirects: false })
  t.equal(config.dataDir, join(findPackageRoot(), '.scopegate'))
})

t.test('readAuthorizationServerConfig() has defaults for all optional settings', async (t) => {
  const shippedConfig = readAuthorizationServerConfig({ configDir: shipped, env: {} }).config
  const { config } = readAuthorizationServerConfig({
    configDir: aFolder(t, ''),
    env: { REDIS_URL: 'redis://127.0.0.1/', SCOPEGATE_STORE__TYPE: 'redis' },
  })
  t.same(config.lifetimes, shippedConfig.lifetimes)
  t.same(config.refreshTokens, shippedConfig.refreshTokens)
  t.same(config.registration, shippedConfig.registration)
  t.same(config.authorization, shippedConfig.authorization)
  t.same(config.integrations, [])
  t.equal(config.redis?.url, 'redis://127.0.0.1/')
})

t.test('readAuthorizationServerConfig() reads a repeat window from 0s to 5m', async (t) => {
  const read = (text: string) =>
    readAuthorizationServerConfig({
      configDir: shipped,
      env: { SCOPEGATE_REFRESH_TOKENS__REPEAT_WINDOW: text },
    }).config.refreshTokens.repeatWindowSeconds
  for (const [text, seconds] of Object.entries({ '0s': 0, '1s': 1, '300s': 300, '5m': 300 }))
    t.equal(read(text), seconds, text)
  for (const text of ['500ms', '301s', '6m', '1h', '-1s', '30'])
    t.throws(() => read(text), { exitCode: 3, message: /at most 5m/ }, text)
})

t.test('a repeat window may be up to a second below the lifetime of access tokens', async (t) => {
  for (const window of ['0s', '59s']) {
    const env = { SCOPEGATE_REFRESH_TOKENS__REPEAT_WINDOW: window, SCOPEGATE_LIFETIMES__ACCESS_TOKEN: '60s' }
    const { warnings } = readAuthorizationServerConfig({ configDir: shipped, env })
    t.same(warnings, [], window)
  }
})

t.test('readAuthorizationServerConfig() reads the connection to PostgreSQL', async (t) => {
  const read = (env: Readonly<Record<string, string>>) =>
    readAuthorizationServerConfig({
      configDir: shipped,
      env: { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: 'postgres://u@db/grants', ...env },
    }).config
  const { store, postgres } = read({})
  t.equal(store.type, 'postgres')
  t.strictSame(postgres, {
    url: 'postgres://u@db/grants',
    passwordFile: undefined,
    caFile: undefined,
    certFile: undefined,
    keyFile: undefined,
    pool: { max: 10, connectTimeoutMs: 2_000, statementTimeoutMs: 2_000 },
  })
  t.match(
    read({
      SCOPEGATE_POSTGRES__PASSWORD_FILE: '/run/password',
      SCOPEGATE_POSTGRES__CA_FILE: '/run/ca.pem',
      SCOPEGATE_POSTGRES__CERT_FILE: '/run/client.crt',
      SCOPEGATE_POSTGRES__KEY_FILE: '/run/client.key',
      SCOPEGATE_POSTGRES__POOL__MAX: '3',
      SCOPEGATE_POSTGRES__POOL__CONNECT_TIMEOUT: '250ms',
      SCOPEGATE_POSTGRES__POOL__STATEMENT_TIMEOUT: '4s',
    }).postgres,
    {
      passwordFile: '/run/password',
      caFile: '/run/ca.pem',
      certFile: '/run/client.crt',
      keyFile: '/run/client.key',
      pool: { max: 3, connectTimeoutMs: 250, statementTimeoutMs: 4_000 },
    },
  )
  for (const name of ['CERT_FILE', 'KEY_FILE'])
    t.throws(() => read({ [`SCOPEGATE_POSTGRES__${name}`]: '/run/client.pem' }), {
      exitCode: 3,
      message: /postgres: set both certFile and keyFile, or neither/,
    })
  t.throws(() => read({ SCOPEGATE_POSTGRES__POOL__CONNECT_TIMEOUT: '0s' }), {
    exitCode: 3,
    message: /CONNECT_TIMEOUT/,
  })
  t.throws(() => read({ SCOPEGATE_POSTGRES__POOL__MAX: '0' }), {
    exitCode: 3,
    message: /POOL__MAX/,
  })
})

t.test(
  'readAuthorizationServerConfig() returns only a warning for an unused Redis in development',
  async (t) => {
    const { config, warnings } = readAuthorizationServerConfig({
      configDir: shipped,
      env: { REDIS_URL: 'redis://127.0.0.1/', SCOPEGATE_DEVELOPMENT: 'true' },
    })
    t.equal(config.store.type, 'sqlite')
    t.match(warnings, [{ code: 'C301', severity: 'warning', message: /no tokens or revocations to Redis/ }])
    t.equal(warnings.length, 1)
  },
)

t.test('readAuthorizationServerConfig() returns exactly this configuration of a minimal file', async (t) => {
  const configDir = aFolder(t, '')
  const { config, warnings } = readAuthorizationServerConfig({ configDir, env: {} })
  const { catalogue, ...settings } = config
  t.equal(catalogue.size, 38)
  t.same(warnings, [])
  t.ok(Object.isFrozen(config))
  t.strictSame(structuredClone(settings), {
    issuer: 'http://127.0.0.1:8080',
    name: 'A test',
    listen: { host: '127.0.0.1', port: 0 },
    management: { host: '127.0.0.1', port: 0 },
    drain: { delayMs: 5_000, graceMs: 20_000 },
    resources: ['http://127.0.0.1:8080'],
    dataDir: join(configDir, 'data'),
    store: { type: 'sqlite' },
    redis: undefined,
    postgres: undefined,
    signingKeysFile: undefined,
    cookieKeysFile: undefined,
    gatewayClient: { id: 'gateway', secretFile: join(configDir, 'secret') },
    development: false,
    lifetimes: {
      codeSeconds: 60,
      accessTokenSeconds: 900,
      refreshTokenSeconds: 2_592_000,
      refreshTokenMaxSeconds: 7_776_000,
      sessionSeconds: 1_209_600,
    },
    accessTokens: { format: 'opaque', algorithm: 'ES256', resources: new Map() },
    refreshTokens: { repeatWindowSeconds: 30 },
    registration: {
      loopbackHosts: ['127.0.0.1'],
      bodyLimitBytes: 16_384,
      documentHosts: [],
      unusedClientSeconds: 604_800,
      rateLimit: { perAddress: 300, windowMs: 600_000 },
    },
    authorization: {
      rateLimit: { perAddress: 600, windowMs: 600_000 },
      pending: { perAddress: 200, total: 10_000 },
    },
    consent: { rememberSeconds: 0, includesLocalApps: false },
    look: { logo: undefined, css: undefined, colors: { light: {}, dark: {} }, links: {} },
    compat: { defaultScope: undefined, optionalState: false, loopbackRedirects: false },
    signIn: { local: true, providers: [] },
    integrations: [],
    canary: undefined,
    log: { level: 'info', auditFile: undefined, format: 'default' },
    tracing: undefined,
  })
})

t.test('readAuthorizationServerConfig() reads the second factor of local accounts', async (t) => {
  const read = (secondFactor: string) => {
    const configDir = aFolder(t, `signIn:\n  secondFactor: ${secondFactor}\n`)
    return readAuthorizationServerConfig({ configDir, env: {} }).config.signIn.secondFactor
  }
  t.equal(read('{ mode: off, acr: mfa }'), undefined)
  t.strictSame(read('{ mode: optional }'), { acr: 'https://refeds.org/profile/mfa', required: false })
  t.strictSame(read('{ mode: required, acr: mfa }'), { acr: 'mfa', required: true })
  t.throws(() => read('{ mode: required, acr: a b }'), { message: /"a b" is not a value without spaces/ })
})

t.test('readAuthorizationServerConfig() reads every optional setting', async (t) => {
  const configDir = aFolder(
    t,
    `protectedResources: [/mcp, /]
signingKeysFile: ./keys.json
cookieKeysFile: ./cookies
development: true
drain: { delay: 1s, grace: 2500ms }
lifetimes: { code: 1500ms, accessToken: 2m, refreshToken: 3h, refreshTokenMax: 4d, session: 5d }
accessTokens:
  format: jwt
  algorithm: EdDSA
  resources: [{ path: /mcp, format: opaque }, { path: /, format: jwt }]
refreshTokens: { repeatWindow: 7s }
registration:
  redirectUris: { loopback: [localhost, '[::1]'] }
  bodyLimit: 1KiB
  clientDocuments: { domains: [claude.ai, agents.example.com:8443] }
  unusedClients: 2h
  rateLimit: { perAddress: 8, window: 9s }
authorization:
  rateLimit: { perAddress: 10, window: 11s }
  pending: { perAddress: 12, total: 13 }
consent: { remember: 14s, rememberLocalApps: true }
look:
  logo: ./logo.svg
  css: ./pages.css
  colors: { light: { accent: '#000000', background: '#ffffff', text: '#111111' }, dark: { text: '#FFFFFF' } }
  links: { help: https://a.test/help, terms: https://a.test/terms, privacy: https://a.test/privacy }
compat: { defaultScope: openid, optionalState: true, loopbackRedirects: true }
signIn:
  local: false
  providers:
    - { name: one, title: One, issuer: https://one.test, clientId: us, clientSecretFile: ./one }
    - name: two
      title: Two
      issuer: https://two.test/realms/main
      clientId: scopegate
      clientSecretFile: ./two
      scopes: [openid, groups]
      claims: { name: n, email: e, groups: g, roles: realm_access.roles }
      admit: { emailDomains: [example.com], groups: [staff], claims: { 'https://x.test/hd': [a, b] } }
integrations:
  - { clientId: one, clientName: One, redirectUris: [https://one.test/a], clientSecretFile: ./one, trusted: true }
  - { clientId: two, clientName: Two, redirectUris: [https://two.test/a, https://two.test/b], postLogoutRedirectUris: [https://two.test/] }
canary: { clientId: bird, clientSecretFile: ./bird, scopes: ['courses:read'], resource: /mcp }
log: { level: silent }
tracing: { endpoint: 'http://collector.test:4318', sampleRatio: 0.5, trustIncoming: never }
`,
  )
  const { catalogue: _catalogue, ...settings } = readAuthorizationServerConfig({ configDir, env: {} }).config
  t.strictSame(structuredClone(settings), {
    issuer: 'http://127.0.0.1:8080',
    name: 'A test',
    listen: { host: '127.0.0.1', port: 0 },
    management: { host: '127.0.0.1', port: 0 },
    drain: { delayMs: 1_000, graceMs: 2_500 },
    resources: ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/mcp'],
    dataDir: join(configDir, 'data'),
    store: { type: 'sqlite' },
    redis: undefined,
    postgres: undefined,
    signingKeysFile: join(configDir, 'keys.json'),
    cookieKeysFile: join(configDir, 'cookies'),
    gatewayClient: { id: 'gateway', secretFile: join(configDir, 'secret') },
    development: true,
    lifetimes: {
      codeSeconds: 1,
      accessTokenSeconds: 120,
      refreshTokenSeconds: 10_800,
      refreshTokenMaxSeconds: 345_600,
      sessionSeconds: 432_000,
    },
    accessTokens: {
      format: 'jwt',
      algorithm: 'EdDSA',
      resources: new Map([
        ['http://127.0.0.1:8080/mcp', 'opaque'],
        ['http://127.0.0.1:8080', 'jwt'],
      ]),
    },
    refreshTokens: { repeatWindowSeconds: 7 },
    registration: {
      loopbackHosts: ['localhost', '[::1]'],
      bodyLimitBytes: 1_024,
      documentHosts: ['claude.ai', 'agents.example.com:8443'],
      unusedClientSeconds: 7_200,
      rateLimit: { perAddress: 8, windowMs: 9_000 },
    },
    authorization: {
      rateLimit: { perAddress: 10, windowMs: 11_000 },
      pending: { perAddress: 12, total: 13 },
    },
    consent: { rememberSeconds: 14, includesLocalApps: true },
    look: {
      logo: join(configDir, 'logo.svg'),
      css: join(configDir, 'pages.css'),
      colors: {
        light: { accent: '#000000', background: '#ffffff', text: '#111111' },
        dark: { text: '#FFFFFF' },
      },
      links: {
        help: 'https://a.test/help',
        terms: 'https://a.test/terms',
        privacy: 'https://a.test/privacy',
      },
    },
    compat: { defaultScope: 'openid', optionalState: true, loopbackRedirects: true },
    signIn: {
      local: false,
      providers: [
        {
          name: 'one',
          title: 'One',
          issuer: 'https://one.test',
          clientId: 'us',
          clientSecretFile: join(configDir, 'one'),
          scopes: ['openid', 'profile', 'email'],
          claims: { name: 'name', email: 'email', groups: undefined, roles: undefined },
          admit: { emailDomains: [], groups: [], claims: new Map() },
        },
        {
          name: 'two',
          title: 'Two',
          issuer: 'https://two.test/realms/main',
          clientId: 'scopegate',
          clientSecretFile: join(configDir, 'two'),
          scopes: ['openid', 'groups'],
          claims: { name: 'n', email: 'e', groups: 'g', roles: 'realm_access.roles' },
          admit: {
            emailDomains: ['example.com'],
            groups: ['staff'],
            claims: new Map([['https://x.test/hd', ['a', 'b']]]),
          },
        },
      ],
    },
    integrations: [
      {
        clientId: 'one',
        clientName: 'One',
        redirectUris: ['https://one.test/a'],
        postLogoutRedirectUris: [],
        clientSecretFile: join(configDir, 'one'),
        trusted: true,
      },
      {
        clientId: 'two',
        clientName: 'Two',
        redirectUris: ['https://two.test/a', 'https://two.test/b'],
        postLogoutRedirectUris: ['https://two.test/'],
        clientSecretFile: undefined,
        trusted: false,
      },
    ],
    canary: {
      clientId: 'bird',
      clientSecretFile: join(configDir, 'bird'),
      scopes: ['courses:read'],
      resource: 'http://127.0.0.1:8080/mcp',
    },
    log: { level: 'silent', auditFile: undefined, format: 'default' },
    tracing: { endpoint: 'http://collector.test:4318', sampleRatio: 0.5, trustIncoming: 'never' },
  })
})

t.test('the error for contradictory settings names the configuration file', async (t) => {
  const configDir = aFolder(t, 'lifetimes: { code: 10ms }\n')
  t.throws(() => readAuthorizationServerConfig({ configDir, env: {} }), {
    message: `error[C301]: lifetimes.code is shorter than a second
 --> ${displayPath(join(configDir, 'authorization-server.yaml'))}
 = use 1s or more`,
  })
})

t.test(
  'readAuthorizationServerConfig() returns the warnings of the file and of its contradictions together',
  async (t) => {
    const env = {
      REDIS_URL: 'redis://127.0.0.1/',
      SCOPEGATE_DEVELOPMENT: 'true',
      SCOPEGATE_LIFETIMES__CODES: '60s',
    }
    const { warnings } = readAuthorizationServerConfig({ configDir: shipped, env })
    t.equal(warnings.at(-1)?.code, 'C301')
    t.ok(warnings.length > 1, 'a warning of the file')
  },
)

function aFolder(t: Test, more: string): string {
  const folder = t.testdir()
  copyFileSync(join(shipped, 'scopes.yaml'), join(folder, 'scopes.yaml'))
  writeFileSync(
    join(folder, 'authorization-server.yaml'),
    `issuer: http://127.0.0.1:8080
name: A test
listen: { host: 127.0.0.1, port: 0 }
management: { host: 127.0.0.1, port: 0 }
scopes: ./scopes.yaml
dataDir: ./data
store: { type: sqlite }
gatewayClient: { id: gateway, secretFile: ./secret }
${more}`,
  )
  return folder
}
