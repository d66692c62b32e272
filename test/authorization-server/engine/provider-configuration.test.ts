import { type Adapter, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import t from 'tap'
import { documentFetch } from '../../../authorization-server/engine/document-clients.ts'
import {
  type ProviderConfigurationOptions,
  providerConfiguration,
} from '../../../authorization-server/engine/provider-configuration.ts'
import { cookieKeys } from '../../../authorization-server/keys/cookie-keys.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'

const issuer = 'https://login.example.com'
const rendered: unknown[] = []
const adapter = (): Adapter => {
  throw new Error('not used')
}
const options: ProviderConfigurationOptions = {
  issuer,
  catalogue: aCatalogue(),
  resources: [issuer, `${issuer}/mcp`],
  lifetimes: {
    codeSeconds: 1,
    accessTokenSeconds: 2,
    refreshTokenSeconds: 30,
    refreshTokenMaxSeconds: 40,
    sessionSeconds: 5,
    interactionSeconds: 6,
  },
  accessTokens: { format: 'opaque', algorithm: 'ES256', resources: new Map() },
  signingKeys: { keys: [] },
  cookieKeys: cookieKeys(() => ['a key']),
  nonceSecrets: [Buffer.alloc(32, 1)],
  optionalState: false,
  gatewayClientId: 'gateway',
  gatewayClientSecret: 'secret',
  integrations: [
    { clientId: 'open', clientName: 'Open', redirectUris: ['https://open.test/'], clientSecret: undefined },
    {
      clientId: 'closed',
      clientName: undefined,
      redirectUris: ['https://closed.test/a', 'https://closed.test/b'],
      clientSecret: 'secret',
    },
  ],
  trustedIds: new Set(),
  consents: { covers: async () => false },
  onGranted: () => undefined,
  keepDocument: async () => undefined,
  findAccount: async () => undefined,
  renderError: (_ctx, error) => void rendered.push(error),
  adapter,
  nowSeconds: () => 1_000,
}
const configuration = providerConfiguration(options)

/**
 * Replaces each function with the text `function`, and each step with its name and its checks. Keeps the values of
 * `options`.
 */
function plain(value: unknown): unknown {
  const given: readonly unknown[] = [options.cookieKeys, ...options.nonceSecrets, options.signingKeys]
  if (typeof value === 'function')
    return value === adapter || value === options.findAccount ? value : 'function'
  if (typeof value !== 'object' || value === null || given.includes(value)) return value
  if (Array.isArray(value)) return [...value].map(plain)
  if (value instanceof interactionPolicy.Prompt)
    return [value.name, ...[...value.checks].map(({ reason }) => reason)]
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}

t.test('the engine fetches nothing without client documents', async (t) => {
  await t.rejects(documentFetch(undefined)('https://agent.example/client', {}), {
    message: 'the engine must not fetch https://agent.example/client',
  })
})

t.test('providerConfiguration() returns exactly the expected settings of the engine', async (t) => {
  t.strictSame(plain(configuration), {
    adapter,
    jwks: options.signingKeys,
    clients: [
      {
        client_id: 'gateway',
        client_secret: 'sha256.K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols',
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
      {
        client_id: 'scopegate-account',
        token_endpoint_auth_method: 'none',
        application_type: 'web',
        redirect_uris: ['https://login.example.com/oauth/account/signed-in'],
      },
      {
        client_id: 'open',
        client_name: 'Open',
        token_endpoint_auth_method: 'none',
        application_type: 'web',
        redirect_uris: ['https://open.test/'],
      },
      {
        client_id: 'closed',
        token_endpoint_auth_method: 'client_secret_post',
        client_secret: 'sha256.K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols',
        application_type: 'web',
        redirect_uris: ['https://closed.test/a', 'https://closed.test/b'],
      },
    ],
    clientAuthMethods: ['none', 'client_secret_post'],
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
    responseTypes: ['code'],
    enabledJWA: { dPoPSigningAlgValues: ['ES256', 'ES384', 'PS256', 'RS256', 'EdDSA', 'Ed25519'] },
    scopes: ['openid', 'courses:read', 'courses:write'],
    claims: {
      openid: ['sub', 'auth_time', 'acr', 'amr'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
    },
    pkce: { required: 'function' },
    extraParams: { scope: 'function', state: 'function', response_mode: 'function' },
    extraClientMetadata: { properties: ['registered_scope'] },
    allowOmittingSingleRegisteredRedirectUri: false,
    findAccount: options.findAccount,
    fetch: 'function',
    fetchResponseBodyLimits: { 'client_id metadata document': Number.POSITIVE_INFINITY },
    routes: {
      authorization: '/oauth/authorize',
      token: '/api/oauth/token',
      registration: '/api/oauth/register',
      revocation: '/api/oauth/revoke',
      introspection: '/api/oauth/introspect',
      jwks: '/api/oauth/jwks',
      pushed_authorization_request: '/api/oauth/par',
      end_session: '/oauth/logout',
    },
    interactions: {
      url: 'function',
      policy: [
        [
          'login',
          'login_prompt',
          'no_session',
          'max_age',
          'id_token_hint',
          'claims_id_token_sub_value',
          'essential_acrs',
          'essential_acr',
          'other_person',
          'acr_values',
        ],
        ['consent_without_page', 'consent_without_page'],
        [
          'consent',
          'consent_prompt',
          'op_scopes_missing',
          'op_claims_missing',
          'rs_scopes_missing',
          'rar_prompt',
          'no_consent',
        ],
      ],
    },
    loadExistingGrant: 'function',
    expiresWithSession: 'function',
    issueRefreshToken: 'function',
    rotateRefreshToken: true,
    revokeGrantPolicy: 'function',
    extraTokenClaims: 'function',
    formats: { customizers: { jwt: 'function' } },
    clientBasedCORS: 'function',
    cookies: {
      keys: options.cookieKeys,
      names: {
        session: '__Host-scopegate_session',
        interaction: '__Secure-scopegate_interaction',
        resume: '__Secure-scopegate_resume',
      },
      long: { httpOnly: true, sameSite: 'lax', secure: true, signed: true, overwrite: true, path: '/' },
      short: { httpOnly: true, sameSite: 'lax', secure: true, signed: true, overwrite: true },
    },
    ttl: {
      AuthorizationCode: 1,
      AccessToken: 'function',
      IdToken: 2,
      RefreshToken: 'function',
      Grant: 'function',
      Session: 5,
      Interaction: 6,
    },
    renderError: 'function',
    discovery: {
      service_documentation: 'https://login.example.com/auth.md',
      ui_locales_supported: ['en', 'de'],
      protected_resources: ['https://login.example.com', 'https://login.example.com/mcp'],
      userinfo_endpoint: 'https://login.example.com/api/oauth/userinfo',
      end_session_endpoint: 'https://login.example.com/oauth/logout',
      revocation_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
      introspection_endpoint_auth_methods_supported: ['client_secret_post'],
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      dPoP: { enabled: true, nonceSecret: options.nonceSecrets[0], requireNonce: 'function' },
      rpInitiatedLogout: { enabled: false },
      clientIdMetadataDocument: { enabled: false },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      pushedAuthorizationRequests: { enabled: true },
      revocation: { enabled: true, allowedPolicy: 'function' },
      introspection: { enabled: true, allowedPolicy: 'function' },
      resourceIndicators: {
        enabled: true,
        defaultResource: 'function',
        useGrantedResource: 'function',
        getResourceServerInfo: 'function',
      },
    },
  })
})

t.test('an http issuer has cookies without a name prefix and without Secure', async (t) => {
  const { cookies } = providerConfiguration({ ...options, issuer: 'http://127.0.0.1:8080' })
  t.strictSame(cookies?.names, {
    session: 'scopegate_session',
    interaction: 'scopegate_interaction',
    resume: 'scopegate_resume',
  })
  t.strictSame([cookies?.long?.secure, cookies?.short?.secure], [false, false])
})

t.test('each policy of the engine is fixed', async (t) => {
  const { pkce, expiresWithSession, issueRefreshToken, revokeGrantPolicy, clientBasedCORS } = configuration
  const { dPoP, resourceIndicators } = configuration.features ?? {}
  const call = (policy: unknown): unknown => (policy as () => unknown)()
  t.strictSame(await Promise.all([expiresWithSession, issueRefreshToken].map(call)), [false, true])
  t.strictSame([pkce?.required, revokeGrantPolicy, clientBasedCORS].map(call), [true, true, true])
  t.equal(call(dPoP?.requireNonce), false)
  t.strictSame([resourceIndicators?.defaultResource, resourceIndicators?.useGrantedResource].map(call), [
    issuer,
    true,
  ])
})

t.test('the engine redirects to the page of the interaction', async (t) => {
  const url = configuration.interactions?.url as unknown as (ctx: unknown, one: object) => string
  t.equal(url({}, { uid: 'a-uid' }), '/oauth/interaction/a-uid')
})

t.test('loadExistingGrant() returns only the grant of this consent', async (t) => {
  const load = (result: unknown) => {
    const provider = { Grant: { find: async (id: string) => `grant ${id}` } }
    return configuration.loadExistingGrant?.({ oidc: { result, provider } } as unknown as KoaContextWithOIDC)
  }
  for (const result of [undefined, {}, { consent: {} }]) t.equal(await load(result), undefined)
  t.equal(await load({ consent: { grantId: 'g' } }), 'grant g')
})

t.test(
  'extraTokenClaims() adds the grant, the sign-in and the account to an access token only',
  async (t) => {
    const claims = (token: object, entities: object = {}) =>
      configuration.extraTokenClaims?.({ oidc: { entities } } as KoaContextWithOIDC, token as never)
    const grant = 'K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols'
    const accessToken = { kind: 'AccessToken', grantId: 'secret' }
    const Account = {
      accountId: 'a',
      tokenClaims: { name: 'Alice', email: 'a@example.com', groups: ['staff'], roles: ['x'.repeat(2_044)] },
    }
    t.strictSame(claims(accessToken), { grant })
    t.strictSame(claims(accessToken, { Account: { accountId: 'a' } }), { grant })
    const { groups, roles } = Account.tokenClaims
    t.strictSame(claims(accessToken, { Account }), { grant, groups, roles })
    const withScopes = { ...accessToken, scope: 'openid profile email' }
    t.strictSame(claims(withScopes, { Account }), { grant, ...Account.tokenClaims })
    const tooLong = { accountId: 'a', tokenClaims: { groups, roles: ['ü'.repeat(1_023)] } }
    t.strictSame(claims(accessToken, { Account: tooLong }), { grant, groups }, 'more than 2,048 bytes')
    for (const entity of ['AuthorizationCode', 'RefreshToken'])
      t.match(
        claims(accessToken, { [entity]: { authTime: 7, acr: 'mfa', amr: ['otp'] } }),
        { auth_time: 7, acr: 'mfa', amr: ['otp'] },
        entity,
      )
    for (const token of [
      { kind: 'AccessToken' },
      { kind: 'AccessToken', grantId: 7 },
      { kind: 'ClientCredentials', grantId: 'secret' },
    ])
      t.equal(claims(token), undefined)
  },
)

t.test('a refresh token expires with its idle lifetime, and with its family at the latest', async (t) => {
  const lifetime = configuration.ttl?.RefreshToken as unknown as (ctx: unknown, token: object) => number
  const rows: readonly [number | undefined, number][] = [
    [undefined, 30],
    [1_000, 30],
    [990, 30],
    [989, 29],
    [961, 1],
    [960, 1],
    [1, 1],
  ]
  for (const [iiat, seconds] of rows) t.equal(lifetime({}, { iiat }), seconds, `${iiat}`)
})

t.test('an access token expires with its grant at the latest', async (t) => {
  const lifetime = configuration.ttl?.AccessToken as unknown as (ctx?: object) => number
  const rows: readonly [number | undefined, number][] = [
    [undefined, 2],
    [1_002, 2],
    [1_001, 1],
    [1_000, 1],
    [999, 1],
  ]
  for (const [exp, seconds] of rows)
    t.equal(lifetime({ oidc: { entities: { Grant: { exp } } } }), seconds, `${exp}`)
  t.equal(lifetime({ oidc: { entities: {} } }), 2)
})

t.test('a grant of the account page expires with its code', async (t) => {
  const lifetime = configuration.ttl?.Grant as unknown as (ctx: object, grant: object) => number
  t.equal(lifetime({}, { clientId: 'scopegate-account' }), 1)
  t.equal(lifetime({}, { clientId: 'open' }), 40)
})

t.test('renderError() reports the code, the description, and an expired interaction', async (t) => {
  const render = configuration.renderError as unknown as (...args: unknown[]) => unknown
  await render({}, { error: 'one', error_description: 'described' }, new Error('other'))
  await render({}, { error: 'two' }, new errors.SessionNotFound('gone'))
  t.strictSame(rendered, [
    { error: 'one', description: 'described', expired: false },
    { error: 'two', description: '', expired: true },
  ])
})

type Policy = (ctx: object, client: object, token: object) => boolean | Promise<boolean>
const policyOf = (feature: unknown) => (feature as { readonly allowedPolicy: Policy }).allowedPolicy

t.test('a client may revoke its own tokens only', async (t) => {
  const policy = policyOf(configuration.features?.revocation)
  t.equal(policy({}, { clientId: 'a' }, { clientId: 'a' }), true)
  t.equal(policy({}, { clientId: 'a' }, { clientId: 'b' }), false)
})

t.test('§4 of RFC 7662: the gateway introspects access tokens, and a client its own tokens', async (t) => {
  const policy = policyOf(configuration.features?.introspection)
  const provider = { Client: { find: async (id: string) => (id === 'deleted' ? undefined : {}) } }
  const rows: readonly (readonly [string, object, boolean])[] = [
    ['a', { kind: 'RefreshToken', clientId: 'a' }, true],
    ['a', { kind: 'AccessToken', clientId: 'b' }, false],
    ['gateway', { kind: 'AccessToken', clientId: 'b' }, true],
    ['gateway', { kind: 'RefreshToken', clientId: 'b' }, false],
    ['gateway', { kind: 'AccessToken', clientId: 'deleted' }, false],
    ['gateway', { kind: 'AccessToken' }, false],
  ]
  for (const [clientId, token, allowed] of rows)
    t.equal(await policy({ oidc: { provider } }, { clientId }, token), allowed, JSON.stringify(token))
})

t.test('a token for a resource has every scope, its audience and an opaque format', async (t) => {
  const { resourceIndicators } = configuration.features ?? {}
  const ask = (resource: string, asked: unknown) =>
    resourceIndicators?.getResourceServerInfo?.(
      { oidc: { params: { resource: asked } } } as unknown as KoaContextWithOIDC,
      resource,
      {} as never,
    )
  t.strictSame(await ask(`${issuer}/mcp`, undefined), {
    scope: 'openid courses:read courses:write',
    audience: 'https://login.example.com/mcp',
    accessTokenFormat: 'opaque',
    jwt: { sign: { alg: 'ES256' } },
  })
  const rejected = async (resource: string, asked: unknown) => ask(resource, asked)
  await t.rejects(rejected(`${issuer}/other`, undefined), { message: 'invalid_target' })
  await t.rejects(rejected(issuer, [issuer, `${issuer}/mcp`]), { message: 'invalid_target' })
})

t.test('the format and the algorithm of a token come from its resource and from the keys', async (t) => {
  const ask = async (
    accessTokens: ProviderConfigurationOptions['accessTokens'],
    keys: ProviderConfigurationOptions['signingKeys']['keys'],
    resource = issuer,
  ) => {
    const { features } = providerConfiguration({ ...options, accessTokens, signingKeys: { keys } })
    const info = await features?.resourceIndicators?.getResourceServerInfo?.(
      { oidc: { params: {} } } as unknown as KoaContextWithOIDC,
      resource,
      {} as never,
    )
    return [info?.accessTokenFormat, info?.jwt]
  }
  const key = (alg: string | undefined) => ({
    kty: 'OKP',
    crv: 'Ed25519',
    x: 'x',
    d: 'd',
    ...(alg && { alg }),
  })
  const signed = (alg: string) => ({ sign: { alg } })
  const resources = new Map([[`${issuer}/mcp`, 'opaque'] as const])
  const ec = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }
  const es256 = { format: 'jwt', algorithm: 'ES256', resources } as const
  const eddsa = { ...es256, algorithm: 'EdDSA' } as const
  t.strictSame(await ask(es256, [ec, key('Ed25519')]), ['jwt', signed('ES256')])
  t.strictSame(await ask(es256, [ec], `${issuer}/mcp`), ['opaque', signed('ES256')])
  t.strictSame(await ask(eddsa, [ec, key('Ed25519'), key('EdDSA')]), ['jwt', signed('Ed25519')])
  t.strictSame(await ask(eddsa, [ec, key('EdDSA'), key('Ed25519')]), ['jwt', signed('EdDSA')])
  t.strictSame(await ask(eddsa, [ec, key(undefined)]), ['jwt', signed('EdDSA')])
})
