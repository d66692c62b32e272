import t, { type Test } from 'tap'
import {
  type AuthorizationServerConfig,
  findContradictions,
  type SignInProvider,
} from '../../authorization-server/config.ts'
import { aConfig } from '../fixtures/start-authorization-server.ts'

const good = { ...(await aConfig('/data')), development: false }
const { lifetimes, registration, authorization, compat } = good
const redis = { url: 'redis://127.0.0.1' }
const postgres = {
  url: 'postgres://u@127.0.0.1/grants',
  passwordFile: undefined,
  caFile: undefined,
  pool: { max: 1, connectTimeoutMs: 1, statementTimeoutMs: 1 },
}
const integration = {
  clientId: 'app',
  clientName: 'App',
  redirectUris: ['https://app.example.com/'],
  clientSecretFile: undefined,
}

/** Checks the severity, message and hint of each contradiction of a configuration with `overrides`. */
function says(
  t: Test,
  overrides: Partial<AuthorizationServerConfig>,
  ...expected: readonly (readonly [severity: string, message: string, hint: string])[]
): void {
  t.strictSame(
    findContradictions({ ...good, ...overrides }, 'config/as.yaml'),
    expected.map(([severity, message, hint]) => ({
      code: 'C301',
      severity,
      message,
      location: { file: 'config/as.yaml', line: undefined, column: undefined, length: 1, text: undefined },
      hint,
      related: [],
    })),
  )
}

t.test('findContradictions() accepts values at their limits', async (t) => {
  const second = {
    codeSeconds: 1,
    accessTokenSeconds: 1,
    refreshTokenSeconds: 1,
    refreshTokenMaxSeconds: 1,
    sessionSeconds: 1,
  }
  says(t, {})
  says(t, { lifetimes: second, refreshTokens: { repeatWindowSeconds: 0 } })
  says(t, { refreshTokens: { repeatWindowSeconds: 899 } })
  const rateLimit = { perAddress: 1, windowMs: 1_000 }
  says(t, { registration: { ...registration, unusedClientSeconds: 1, bodyLimitBytes: 1, rateLimit } })
  says(t, { authorization: { rateLimit, pending: { perAddress: 7, total: 7 } } })
  says(t, { drain: { delayMs: 999, graceMs: 1_000 } })
  says(t, { consent: { rememberSeconds: 1, includesLocalApps: true } })
  says(t, { compat: { ...compat, defaultScope: 'openid courses:read' } })
  const resources = new Map([[good.issuer, 'jwt'] as const])
  says(t, { accessTokens: { ...good.accessTokens, resources } })
  says(t, { store: { type: 'redis' }, redis })
  says(t, { store: { type: 'postgres' }, postgres })
  says(t, { integrations: [integration, { ...integration, clientId: 'app2' }] })
})

t.test('findContradictions() reports a token format for an unknown resource', async (t) => {
  const resources = new Map([[`${good.issuer}/mcp`, 'jwt'] as const])
  says(t, { accessTokens: { ...good.accessTokens, resources } }, [
    'error',
    'accessTokens.resources: /mcp is not a resource of this server',
    'add the path to protectedResources, or remove the entry',
  ])
})

t.test('findContradictions() reports each lifetime below one second', async (t) => {
  says(
    t,
    {
      lifetimes: {
        codeSeconds: 0,
        accessTokenSeconds: 0,
        refreshTokenSeconds: 0,
        refreshTokenMaxSeconds: 0,
        sessionSeconds: 0,
      },
      refreshTokens: { repeatWindowSeconds: -1 },
    },
    ['error', 'lifetimes.code is shorter than a second', 'use 1s or more'],
    ['error', 'lifetimes.accessToken is shorter than a second', 'use 1s or more'],
    ['error', 'lifetimes.refreshToken is shorter than a second', 'use 1s or more'],
    ['error', 'lifetimes.refreshTokenMax is shorter than a second', 'use 1s or more'],
    ['error', 'lifetimes.session is shorter than a second', 'use 1s or more'],
  )
})

t.test('findContradictions() explains each contradiction and its solution', async (t) => {
  says(t, { lifetimes: { ...lifetimes, refreshTokenMaxSeconds: 2_591_999 } }, [
    'error',
    'lifetimes.refreshTokenMax is shorter than lifetimes.refreshToken',
    'set lifetimes.refreshTokenMax to at least lifetimes.refreshToken',
  ])
  says(t, { refreshTokens: { repeatWindowSeconds: 900 } }, [
    'error',
    'refreshTokens.repeatWindow must be shorter than lifetimes.accessToken: a repeated response could contain an expired access token',
    'make the window shorter, or use 0s',
  ])
  const short = { perAddress: 1, windowMs: 999 }
  says(
    t,
    { registration: { ...registration, unusedClientSeconds: 0, bodyLimitBytes: 0, rateLimit: short } },
    ['error', 'registration.unusedClients is shorter than a second', 'use 7d'],
    ['error', 'registration.rateLimit.window is shorter than a second', 'use 10m'],
    ['error', 'registration.bodyLimit is 0', 'use 16KiB'],
  )
  const remedy = 'use colors with a contrast of at least 4.5:1 (WCAG 2.2 section 1.4.3)'
  says(
    t,
    { look: { ...good.look, colors: { light: { text: '#777777' }, dark: { background: '#9db8ff' } } } },
    [
      'error',
      'look.colors.light.text #777777 on background #ffffff has a contrast of 4.47:1, which is below 4.5:1',
      remedy,
    ],
    [
      'error',
      'look.colors.dark.text #eceff4 on background #9db8ff has a contrast of 1.69:1, which is below 4.5:1',
      remedy,
    ],
    [
      'error',
      'look.colors.dark.accent #9db8ff on background #9db8ff has a contrast of 1.00:1, which is below 4.5:1',
      remedy,
    ],
  )
  says(t, { consent: { rememberSeconds: 0, includesLocalApps: true } }, [
    'error',
    'consent.rememberLocalApps is true, but consent.remember is 0s: the server remembers no consent',
    'set consent.remember, for example 30d, or remove consent.rememberLocalApps',
  ])
  says(
    t,
    { authorization: { rateLimit: short, pending: { perAddress: 7, total: 6 } } },
    ['error', 'authorization.rateLimit.window is shorter than a second', 'use 10m'],
    [
      'error',
      'authorization.pending.total is less than authorization.pending.perAddress',
      'set authorization.pending.total to at least authorization.pending.perAddress',
    ],
  )
  says(t, { drain: { delayMs: 1_000, graceMs: 1_000 } }, [
    'error',
    'drain.delay must be shorter than drain.grace',
    'drain.grace includes drain.delay: set a longer drain.grace',
  ])
  t.strictSame(authorization.pending, { perAddress: 200, total: 10_000 })
})

t.test('findContradictions() names each default scope that is not in the catalogue', async (t) => {
  const hint = 'name scopes of the scope catalogue'
  says(
    t,
    { compat: { ...compat, defaultScope: 'no:such openid none:such' } },
    ['error', 'compat.defaultScope: scope "no:such" is not in the catalogue', hint],
    ['error', 'compat.defaultScope: scope "none:such" is not in the catalogue', hint],
  )
  says(t, { compat: { ...compat, defaultScope: 'a "b"' } }, [
    'error',
    'compat.defaultScope: scope "a "b"" is not in the catalogue',
    hint,
  ])
})

t.test('findContradictions() requires a Redis URL for the Redis store only', async (t) => {
  says(t, { store: { type: 'redis' } }, [
    'error',
    'store.type is redis, but redis is not set',
    'set redis.url (REDIS_URL), redis.sentinel or redis.cluster',
  ])
  for (const [development, severity] of [
    [false, 'error'],
    [true, 'warning'],
  ] as const)
    says(t, { redis, development }, [
      severity,
      'redis is set (for example by REDIS_URL), but store.type is sqlite: the server would write no tokens or revocations to Redis',
      'use store.type: redis, or remove redis and set issuers[].revocations at the gateways',
    ])
})

t.test('findContradictions() requires a PostgreSQL URL for the PostgreSQL store only', async (t) => {
  says(t, { store: { type: 'postgres' } }, [
    'error',
    'store.type is postgres, but postgres.url is not set',
    'set postgres.url (SCOPEGATE_POSTGRES__URL)',
  ])
  for (const [store, extra] of [
    [{ type: 'sqlite' }, {}],
    [{ type: 'redis' }, { redis }],
  ] as const)
    says(t, { store, postgres, ...extra }, [
      'error',
      `postgres.url is set, but store.type is ${store.type}: the server would write nothing to PostgreSQL`,
      'use store.type: postgres, or remove postgres',
    ])
  says(t, { store: { type: 'postgres' }, postgres, redis }, [
    'error',
    'redis is set (for example by REDIS_URL), but store.type is postgres: the server would write no tokens or revocations to Redis',
    'use store.type: redis, or remove redis and set issuers[].revocations at the gateways',
  ])
})

t.test('findContradictions() reports each repeated client ID once', async (t) => {
  says(
    t,
    {
      integrations: [
        { ...integration, clientId: 'scopegate-account' },
        { ...integration, clientId: 'gateway' },
        integration,
        integration,
        integration,
      ],
    },
    ['error', 'two clients have the id scopegate-account', 'give each client its own id'],
    ['error', 'two clients have the id gateway', 'give each client its own id'],
    ['error', 'two clients have the id app', 'give each client its own id'],
  )
})

const canary = {
  clientId: 'canary',
  clientSecretFile: '/secrets/canary',
  scopes: ['courses:read'],
  resource: good.issuer,
}

t.test('findContradictions() accepts a canary that only reads a resource of the server', async (t) => {
  says(t, { canary })
})

t.test('findContradictions() reports each scope with which a canary could do more than read', async (t) => {
  const scope = { description: 'A scope', group: 'Test', sensitivity: 'read' } as const
  const catalogue = new Map([
    ...good.catalogue,
    ['all:read', { ...scope, name: 'all:read', implies: ['inner:read'] }],
    ['inner:read', { ...scope, name: 'inner:read', implies: ['courses:write'] }],
  ])
  const scopes = ['courses:read', 'openid', 'courses:write', 'all:read', 'unknown']
  const hint = 'name scopes of the scope catalogue with sensitivity read, which imply only such scopes'
  says(
    t,
    { catalogue, canary: { ...canary, scopes } },
    ['error', 'canary.scopes: scope "openid" gives more access than a read', hint],
    ['error', 'canary.scopes: scope "courses:write" gives more access than a read', hint],
    ['error', 'canary.scopes: scope "all:read" gives more access than a read', hint],
    ['error', 'canary.scopes: scope "unknown" is not in the catalogue', hint],
  )
})

t.test('findContradictions() reports an unknown resource and a repeated client ID of a canary', async (t) => {
  says(
    t,
    { canary: { ...canary, clientId: 'gateway', resource: `${good.issuer}/mcp` } },
    [
      'error',
      'canary.resource: /mcp is not a resource of this server',
      'add the path to protectedResources, or remove canary.resource',
    ],
    ['error', 'two clients have the id gateway', 'give each client its own id'],
  )
})

const provider: SignInProvider = {
  name: 'company',
  title: 'Example account',
  issuer: 'https://login.example.com/realms/main',
  clientId: 'scopegate',
  clientSecretFile: '/secrets/company',
  scopes: ['openid'],
  claims: { name: 'name', email: 'email', groups: undefined, roles: undefined },
  admit: { emailDomains: [], groups: [], claims: new Map() },
}

t.test('findContradictions() accepts usable providers', async (t) => {
  const google = {
    ...provider,
    name: 'google',
    issuer: 'https://accounts.google.com',
    admit: { ...provider.admit, claims: new Map([['hd', ['example.com']]]) },
  }
  const entra = {
    ...provider,
    name: 'entra',
    issuer: 'https://login.microsoftonline.com/0a0a0a0a-0000-4000-8000-000000000000/v2.0',
  }
  const groups = {
    ...provider,
    name: 'groups',
    issuer: 'http://127.0.0.1:8080',
    claims: { ...provider.claims, groups: 'groups' },
    admit: { ...provider.admit, groups: ['staff'] },
  }
  says(t, { signIn: { local: false, providers: [provider, google, entra, groups] } })
  says(t, { signIn: { local: true, providers: [] } })
  const secondFactor = { acr: 'mfa', required: true }
  says(t, { signIn: { local: true, providers: [], secondFactor } })
  says(t, { signIn: { local: false, providers: [provider], secondFactor } }, [
    'error',
    'signIn.secondFactor is set, but signIn.local is false: only local accounts have a second factor',
    'remove signIn.secondFactor, and require a second factor at the provider',
  ])
})

t.test('findContradictions() reports providers that cannot work or admit anybody', async (t) => {
  says(t, { signIn: { local: false, providers: [] } }, [
    'error',
    'signIn.local is false, but signIn.providers is empty: no person could sign in',
    'add a provider to signIn.providers, or remove signIn.local',
  ])
  says(
    t,
    { signIn: { local: true, providers: [provider, provider] } },
    ['error', 'signIn.providers: two providers have the name company', 'give each provider its own name'],
    [
      'error',
      'signIn.providers: two providers have the issuer https://login.example.com/realms/main',
      'remove one of the two providers: an account belongs to an issuer and a subject',
    ],
  )
  const https = 'use https: plain http is for 127.0.0.1 and localhost only'
  const tenant = 'use https://login.microsoftonline.com/TENANT-ID/v2.0 with the ID of your tenant'
  const rows: readonly (readonly [Partial<SignInProvider>, string, string])[] = [
    [{ issuer: 'http://login.example.com' }, 'issuer does not begin with https', https],
    [{ issuer: 'http://127.0.0.1.example.com' }, 'issuer does not begin with https', https],
    ...['common', 'organizations', 'consumers'].map(
      (name) =>
        [
          { issuer: `https://login.microsoftonline.com/${name}/v2.0` },
          'issuer accepts accounts of every tenant',
          tenant,
        ] as const,
    ),
    [{ scopes: ['profile'] }, 'scopes does not contain openid', 'add openid to scopes'],
    [
      { admit: { ...provider.admit, groups: ['staff'] } },
      'admit.groups is set, but claims.groups is not',
      'set claims.groups to the claim with the groups',
    ],
    [
      { issuer: 'https://accounts.google.com' },
      'anybody can create an account at this issuer, and admit has no rule',
      'set admit, for example admit: { claims: { hd: [example.com] } }',
    ],
  ]
  for (const [change, message, hint] of rows)
    says(t, { signIn: { local: true, providers: [{ ...provider, ...change }] } }, [
      'error',
      `signIn.providers (company): ${message}`,
      hint,
    ])
  says(t, { signIn: { local: true, providers: [{ ...provider, name: 'local' }] } }, [
    'error',
    'signIn.providers (local): the name local stands for local accounts',
    'give the provider another name',
  ])
})
