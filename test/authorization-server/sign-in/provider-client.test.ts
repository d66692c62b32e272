import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { SignInProvider } from '../../../authorization-server/config.ts'
import {
  type AttemptSecrets,
  type AuthenticationRequest,
  createProviderClient,
  type ProviderClient,
} from '../../../authorization-server/sign-in/provider-client.ts'
import { ProviderError } from '../../../authorization-server/sign-in/provider-error.ts'
import {
  ATTEMPT_MODEL,
  createSignInAttempts,
} from '../../../authorization-server/sign-in/sign-in-attempts.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import {
  type OpenidProvider,
  PROVIDER_CLIENT,
  PROVIDER_SECRET,
  type ProviderBehavior,
  startOpenidProvider,
} from '../../fixtures/an-openid-provider.ts'
import { aKey } from '../../fixtures/jwk.ts'
import { macJws, part, signJws } from '../../fixtures/jws.ts'
import { anInteraction, openForm, postForm, startPages } from '../../fixtures/start-pages.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const REDIRECT_URI = 'https://api.test/oauth/sign-in/company/callback'
const NOTHING: AuthenticationRequest = {
  prompt: [],
  maxAgeSeconds: undefined,
  loginHint: undefined,
  acrValues: undefined,
  uiLocales: undefined,
}
const now = () => Math.floor(Date.now() / 1_000)

const provider = await startOpenidProvider(t, { path: '/realms/main' })

function settings(overrides: Partial<SignInProvider> = {}): SignInProvider {
  return {
    name: 'company',
    title: 'Example account',
    issuer: provider.issuer,
    clientId: PROVIDER_CLIENT,
    clientSecretFile: '/unused',
    scopes: ['openid', 'profile', 'email'],
    claims: { name: 'name', email: 'email', groups: undefined, roles: undefined },
    admit: { emailDomains: [], groups: [], claims: new Map() },
    ...overrides,
  }
}

function aClient(
  overrides: Partial<SignInProvider> = {},
  clientSecrets: readonly string[] = [PROVIDER_SECRET],
): ProviderClient {
  return createProviderClient({
    provider: settings(overrides),
    redirectUri: REDIRECT_URI,
    clientSecrets: () => clientSecrets,
    nowSeconds: now,
  })
}

function aSecret(): string {
  return randomBytes(32).toString('base64url')
}

function someSecrets(): AttemptSecrets {
  return { state: aSecret(), nonce: aSecret(), codeVerifier: aSecret() }
}

type Request = Partial<AuthenticationRequest> & { readonly sinceSeconds?: number }

/** Signs the person in with a new client, which has no cached metadata and keys. */
async function signInWith(
  behavior: ProviderBehavior,
  { sinceSeconds, ...request }: Request = {},
  client = aClient(),
  from: OpenidProvider = provider,
) {
  from.behavior = behavior
  try {
    const secrets = someSecrets()
    const address = await client.authorizationUrl(secrets, { ...NOTHING, ...request })
    return await client.complete(from.authorize(address), secrets, {
      maxAgeSeconds: request.maxAgeSeconds,
      sinceSeconds,
    })
  } finally {
    from.behavior = {}
  }
}

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  try {
    await work
  } catch (error) {
    if (error instanceof ProviderError) return error
    throw error
  }
  throw new Error('the sign-in succeeded')
}

t.test('a person signs in, with PKCE, state and nonce', async (t) => {
  const client = aClient()
  const secrets = someSecrets()
  const address = await client.authorizationUrl(secrets, {
    prompt: ['login'],
    maxAgeSeconds: 60,
    loginHint: 'one@example.com',
    acrValues: 'urn:example:mfa',
    uiLocales: 'de en',
  })
  t.equal(`${address.origin}${address.pathname}`, `${provider.issuer}/authorize`)
  t.match(Object.fromEntries(address.searchParams), {
    response_type: 'code',
    client_id: PROVIDER_CLIENT,
    redirect_uri: REDIRECT_URI,
    scope: 'openid profile email',
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge_method: 'S256',
    prompt: 'login',
    max_age: '60',
    login_hint: 'one@example.com',
    acr_values: 'urn:example:mfa',
    ui_locales: 'de en',
  })
  const identity = await client.complete(provider.authorize(address), secrets, {
    maxAgeSeconds: 60,
    sinceSeconds: now(),
  })
  t.match(identity, {
    issuer: provider.issuer,
    subject: 'person-1',
    claims: { name: 'Person One', email: 'one@example.com', email_verified: true },
    acr: undefined,
    amr: undefined,
    authTimeSeconds: Number,
  })
})

t.test('optional parts of a response are accepted', async (t) => {
  const rsa = aKey('RS256', 'rsa')
  const rows: readonly (readonly [name: string, ProviderBehavior])[] = [
    ['no at_hash', { claims: { at_hash: undefined } }],
    ['no auth_time', { claims: { auth_time: undefined } }],
    [
      'no iss parameter, and the metadata do not announce it',
      {
        metadata: { authorization_response_iss_parameter_supported: undefined },
        query: { iss: undefined },
      },
    ],
    ['audience as a list', { claims: { aud: [PROVIDER_CLIENT] } }],
    ['several audiences, and azp', { claims: { aud: ['other', PROVIDER_CLIENT], azp: PROVIDER_CLIENT } }],
    ['a token that expired within the clock tolerance', { claims: { exp: now() - 5 } }],
    [
      'an RS256 signature',
      {
        keys: [rsa.jwk],
        header: { alg: 'RS256', kid: 'rsa' },
        idToken: (header, claims) => signJws(header, claims, rsa.privateKey),
      },
    ],
    ['further parameters in the response', { query: { session_state: 'x', unknown: 'y' } }],
  ]
  for (const [name, behavior] of rows) t.equal((await signInWith(behavior)).subject, 'person-1', name)
})

t.test('acr, amr and auth_time of the ID token are returned within bounds', async (t) => {
  const { acr, amr, authTimeSeconds } = await signInWith({
    claims: { acr: 'urn:example:mfa', amr: ['pwd', 7, 'otp', 'x'.repeat(256)], auth_time: 1_000 },
  })
  t.strictSame([acr, amr, authTimeSeconds], ['urn:example:mfa', ['pwd', 'otp'], 1_000])
  const bad = await signInWith({ claims: { acr: 'a'.repeat(256), amr: 'pwd' } })
  t.strictSame([bad.acr, bad.amr], [undefined, undefined])
})

t.test('claims that the ID token lacks come from the userinfo endpoint', async (t) => {
  const behavior = {
    claims: { name: undefined, email: 'token@example.com' },
    userinfo: { name: 'From userinfo', email: 'userinfo@example.com' },
  }
  const { claims } = await signInWith(behavior)
  t.match(claims, { name: 'From userinfo', email: 'token@example.com' }, 'the ID token has priority')
  const before = provider.paths.length
  await signInWith({})
  t.notOk(provider.paths.slice(before).includes('/userinfo'))
})

const other = aKey('ES256', 'key-1')
const es384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
const plain =
  (body: string, status = 200, type = 'application/json') =>
  (_request: unknown, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': type }).end(body)
const discovery = '/.well-known/openid-configuration'

/** Invalid responses of a provider. The log contains the text in `detail`. */
const HOSTILE: readonly (readonly [
  name: string,
  behavior: ProviderBehavior,
  detail: RegExp,
  request?: Request,
])[] = [
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iss: another issuer)',
    { claims: { iss: 'https://evil.test' } },
    /CLAIM_COMPARISON\w* iss/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iss: a trailing slash)',
    { claims: { iss: `${provider.issuer}/` } },
    /iss/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iss: another realm)',
    { claims: { iss: provider.issuer.replace('main', 'other') } },
    /iss/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iss: absent)',
    { claims: { iss: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iss: a list)',
    { claims: { iss: [provider.issuer] } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (aud: another client)',
    { claims: { aud: 'other' } },
    /CLAIM_COMPARISON\w* aud/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (aud: a list without this client)',
    { claims: { aud: ['other', 'another'] } },
    /aud/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (aud: several clients without azp)',
    { claims: { aud: [PROVIDER_CLIENT, 'other'] } },
    /aud/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (aud: absent)',
    { claims: { aud: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (aud: other capitals)',
    { claims: { aud: 'Scopegate' } },
    /aud/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (azp: another client, several audiences)',
    { claims: { aud: [PROVIDER_CLIENT, 'o'], azp: 'o' } },
    /azp/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (azp: another client, one audience)',
    { claims: { azp: 'other' } },
    /^azp$/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (nonce: another value)',
    { claims: { nonce: 'other' } },
    /CLAIM_COMPARISON\w* nonce/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (nonce: absent)',
    { claims: { nonce: undefined } },
    /INVALID_RESPONSE/,
  ],
  ['§3.1.3.7 of OpenID Connect Core: rejects an ID token (nonce: empty)', { claims: { nonce: '' } }, /nonce/],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (exp: in the past)',
    { claims: { exp: now() - 120 } },
    /TIMESTAMP\w* exp/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (exp: absent)',
    { claims: { exp: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (exp: text)',
    { claims: { exp: '9999999999' } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iat: absent)',
    { claims: { iat: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (iat: in the future)',
    { claims: { iat: now() + 600 } },
    /^iat$/,
  ],
  [
    '§4.1.5 of RFC 7519: rejects an ID token (nbf: in the future)',
    { claims: { nbf: now() + 600 } },
    /TIMESTAMP\w* nbf/,
  ],
  [
    '§2 of OpenID Connect Core: rejects an ID token (sub: absent)',
    { claims: { sub: undefined } },
    /INVALID_RESPONSE/,
  ],
  ['§2 of OpenID Connect Core: rejects an ID token (sub: empty)', { claims: { sub: '' } }, /sub|INVALID/],
  [
    '§2 of OpenID Connect Core: rejects an ID token (sub: a number)',
    { claims: { sub: 1 } },
    /INVALID_RESPONSE/,
  ],
  [
    '§2 of OpenID Connect Core: rejects an ID token (sub: longer than 255 characters)',
    { claims: { sub: 'a'.repeat(256) } },
    /^sub$/,
  ],
  [
    '§2 of OpenID Connect Core: rejects an ID token (sub: a line break)',
    { claims: { sub: 'person-1\n' } },
    /^sub$/,
  ],
  ['§2 of OpenID Connect Core: rejects an ID token (sub: a NUL)', { claims: { sub: 'person-1\0' } }, /^sub$/],
  ['§2 of OpenID Connect Core: rejects an ID token (sub: not ASCII)', { claims: { sub: 'persón' } }, /^sub$/],
  [
    '§3.1.3.8 of OpenID Connect Core: rejects an ID token (at_hash: of another token)',
    { claims: { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' } },
    /^at_hash$/,
  ],
  [
    '§3.1.3.8 of OpenID Connect Core: rejects an ID token (at_hash: empty)',
    { claims: { at_hash: '' } },
    /^at_hash$/,
  ],
  [
    '§3.1.3.8 of OpenID Connect Core: rejects an ID token (at_hash: a number)',
    { claims: { at_hash: 1 } },
    /^at_hash$/,
  ],
  [
    '§3.1.3.8 of OpenID Connect Core: rejects a token response (access token: exchanged)',
    { tokenResponse: { access_token: 'another' } },
    /^at_hash$/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (auth_time: absent, and max_age was sent)',
    { claims: { auth_time: undefined } },
    /INVALID_RESPONSE/,
    {
      maxAgeSeconds: 60,
    },
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (auth_time: older than max_age)',
    { claims: { auth_time: now() - 600 } },
    /TIMESTAMP\w* auth_time/,
    {
      maxAgeSeconds: 60,
    },
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (auth_time: in the future)',
    { claims: { auth_time: now() + 600 } },
    /^auth_time$/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (auth_time: text)',
    { claims: { auth_time: 'now' } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (auth_time: before the sign-in that prompt=login requires)',
    { claims: { auth_time: now() - 600 } },
    /before/,
    {
      prompt: ['login'],
      sinceSeconds: now(),
    },
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (signature: of another key with the same kid)',
    {
      idToken: (header, claims) => signJws(header, claims, other.privateKey),
    },
    /./,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (signature: absent)',
    { idToken: (header, claims) => `${part(header)}.${part(claims)}.` },
    /./,
  ],
  [
    '§3.1.3.7 of OpenID Connect Core: rejects an ID token (signature: changed claims)',
    {
      idToken: (header, claims, key) => {
        const [head, , signature] = signJws(header, claims, key.privateKey).split('.')
        return `${head}.${part({ ...claims, sub: 'person-2' })}.${signature}`
      },
    },
    /./,
  ],
  [
    '§3.1 of RFC 8725: rejects an ID token (alg: none)',
    { idToken: (_header, claims) => `${part({ alg: 'none' })}.${part(claims)}.` },
    /./,
  ],
  [
    '§3.1 of RFC 8725: rejects an ID token (alg: HS256 with the client secret)',
    {
      idToken: (_header, claims) => macJws({ alg: 'HS256' }, claims, PROVIDER_SECRET),
    },
    /./,
  ],
  [
    '§3.1 of RFC 8725: rejects an ID token (alg: HS256 with the client secret, announced in the metadata)',
    {
      metadata: { id_token_signing_alg_values_supported: ['HS256', 'ES256'] },
      claims: { at_hash: undefined },
      idToken: (_header, claims) => macJws({ alg: 'HS256' }, claims, PROVIDER_SECRET),
    },
    /./,
  ],
  [
    '§3.1 of RFC 8725: rejects an ID token (alg: not in the metadata)',
    {
      idToken: (header, claims) => signJws({ ...header, alg: 'ES384' }, claims, es384),
    },
    /./,
  ],
  [
    '§10.1 of OpenID Connect Core: rejects an ID token (kid: unknown)',
    { header: { kid: 'unknown' } },
    /KEY_SELECTION/,
  ],
  [
    '§10.1 of OpenID Connect Core: rejects an ID token (kid: absent, and several keys match)',
    {
      header: { kid: undefined },
      keys: [provider.key.jwk, other.jwk],
    },
    /KEY_SELECTION/,
  ],
  [
    '§4.1.11 of RFC 7515: rejects an ID token (crit: an unknown extension)',
    { header: { crit: ['x'], x: 1 } },
    /UNSUPPORTED/,
  ],
  [
    '§10.1 of OpenID Connect Core: rejects the keys (keys: an encryption key)',
    { keys: [{ ...provider.key.jwk, use: 'enc' }] },
    /KEY_SELECTION/,
  ],
  ['§10.1 of OpenID Connect Core: rejects the keys (keys: empty)', { keys: [] }, /KEY_SELECTION/],
  [
    '§10.1 of OpenID Connect Core: rejects the keys (keys: not JSON)',
    { reply: { '/keys': plain('<html>') } },
    /./,
  ],
  [
    '§3.1.3.3 of OpenID Connect Core: rejects a token response (ID token: absent)',
    { tokenResponse: { id_token: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.3 of OpenID Connect Core: rejects a token response (ID token: not a JWT)',
    { tokenResponse: { id_token: 'x' } },
    /INVALID_RESPONSE/,
  ],
  [
    '§3.1.3.3 of OpenID Connect Core: rejects a token response (ID token: encrypted)',
    { tokenResponse: { id_token: 'a.b.c.d.e' } },
    /UNSUPPORTED/,
  ],
  [
    '§3.1.3.3 of OpenID Connect Core: rejects a token response (ID token: a list of claims)',
    { idToken: (header, _claims, key) => signJws(header, [], key.privateKey) },
    /INVALID/,
  ],
  [
    '§5.1 of RFC 6749: rejects a token response (no access token)',
    { tokenResponse: { access_token: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§7.1 of RFC 6749: rejects a token response (another token type)',
    { tokenResponse: { token_type: 'mac' } },
    /UNSUPPORTED/,
  ],
  [
    '§5.1 of RFC 6749: rejects a token response (not JSON)',
    { reply: { '/token': plain('access_token=x', 200, 'text/plain') } },
    /NOT_JSON/,
  ],
  [
    '§5.1 of RFC 6749: rejects a token response (a list)',
    { reply: { '/token': plain('[]') } },
    /INVALID_RESPONSE/,
  ],
  ['token response: above 256 KiB', { tokenResponse: { padding: 'x'.repeat(300_000) } }, /256 KiB/],
  [
    'token response: above 256 KiB after decompression',
    {
      reply: {
        '/token': (_request, response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
            .end(gzipSync(JSON.stringify({ padding: 'x'.repeat(1_000_000) }))),
      },
    },
    /256 KiB/,
  ],
  [
    'token response: a redirect',
    {
      reply: {
        '/token': (_request, response) =>
          void response.writeHead(307, { location: `${provider.issuer}/elsewhere` }).end(),
      },
    },
    /redirect 307/,
  ],
  [
    '§5.2 of RFC 6749: rejects a token response (an error)',
    { reply: { '/token': plain('{"error":"invalid_grant"}', 400) } },
    /invalid_grant/,
  ],
  [
    '§5.2 of RFC 6749: rejects a token response (an error with markup)',
    {
      reply: { '/token': plain('{"error":"<script>"}', 400) },
    },
    /^token endpoint: unknown error$/,
  ],
  [
    '§2.4 of RFC 9207: rejects an authorization response (iss: another issuer (mix-up))',
    { query: { iss: 'https://evil.test' } },
    /INVALID_RESPONSE/,
  ],
  [
    '§2.4 of RFC 9207: rejects an authorization response (iss: absent, although announced)',
    { query: { iss: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§4.1.2 of RFC 6749: rejects an authorization response (code: absent)',
    { query: { code: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§4.1.2 of RFC 6749: rejects an authorization response (code: unknown to the provider)',
    { query: { code: 'other' } },
    /invalid_grant/,
  ],
  [
    '§3.1.2.5 of OpenID Connect Core: rejects an authorization response (an ID token)',
    { query: { id_token: 'x' } },
    /UNSUPPORTED/,
  ],
  [
    '§5.3.4 of OpenID Connect Core: rejects a userinfo response (sub: another subject)',
    { claims: { name: undefined }, userinfo: { sub: 'person-2' } },
    /COMPARISON/,
  ],
  [
    '§5.3.4 of OpenID Connect Core: rejects a userinfo response (sub: no subject)',
    { claims: { name: undefined }, userinfo: { sub: undefined } },
    /INVALID_RESPONSE/,
  ],
  [
    '§4.3 of OpenID Connect Discovery: rejects the metadata (another issuer)',
    { metadata: { issuer: 'https://evil.test' } },
    /./,
  ],
  [
    '§4.3 of OpenID Connect Discovery: rejects the metadata (the issuer with a trailing slash)',
    { metadata: { issuer: `${provider.issuer}/` } },
    /./,
  ],
  [
    '§4.3 of OpenID Connect Discovery: rejects the metadata (no issuer)',
    { metadata: { issuer: undefined } },
    /./,
  ],
  [
    '§3 of OpenID Connect Discovery: rejects the metadata (no authorization endpoint)',
    { metadata: { authorization_endpoint: undefined } },
    /./,
  ],
  [
    '§3 of OpenID Connect Discovery: rejects the metadata (no token endpoint)',
    { metadata: { token_endpoint: undefined } },
    /./,
  ],
  [
    '§3 of OpenID Connect Discovery: rejects the metadata (a script as the authorization endpoint)',
    {
      metadata: { authorization_endpoint: 'javascript:alert(1)' },
    },
    /./,
  ],
  [
    '§3 of OpenID Connect Discovery: rejects the metadata (no supported client authentication)',
    {
      metadata: { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
    },
    /client authentication/,
  ],
  [
    '§4.2 of OpenID Connect Discovery: rejects the metadata (not JSON)',
    { reply: { [discovery]: plain('<html>', 200, 'text/html') } },
    /./,
  ],
  ['metadata: above 256 KiB', { metadata: { padding: 'x'.repeat(300_000) } }, /256 KiB/],
  [
    'metadata: a redirect',
    {
      reply: {
        [discovery]: (_request, response) =>
          void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      },
    },
    /redirect 302/,
  ],
]

const store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds: now })
t.teardown(() => store.close())
let current = aClient()
const pages = await startPages(t, {
  providers: {
    clients: new Map([
      [
        'company',
        {
          provider: settings(),
          authorizationUrl: (...given) => current.authorizationUrl(...given),
          complete: (...given) => current.complete(...given),
        },
      ],
    ]),
    attempts: createSignInAttempts({
      artifacts: store.artifacts(ATTEMPT_MODEL),
      expiresInSeconds: 600,
      bound: { perAddress: 1_000, total: 1_000 },
    }),
    accounts: {
      signInFromProvider: async () => {
        throw new Error('an invalid response must not reach the accounts')
      },
    },
  },
})

async function signInOnPages({ sinceSeconds: _, ...request }: Request = {}) {
  current = aClient()
  pages.nowMs = Date.now()
  pages.interaction = anInteraction({ requested: { ...NOTHING, ...request } })
  const { cookie, token } = await openForm(pages)
  const started = await postForm(pages, 'provider/company', { cookie, body: { form_token: token } })
  if (started.status !== 303) return started
  const query = provider.authorize(new URL(started.headers.get('location') ?? ''))
  const visit = (path: string) => fetch(`${pages.url}${path}`, { redirect: 'manual', headers: { cookie } })
  const received = await visit(`${ENDPOINTS.signIn}/company/callback?${query}`)
  return received.status === 303 ? visit(received.headers.get('location') ?? '') : received
}

/** Values of the invalid responses. Neither the log nor a page contains these values. */
const VALUES_OF_PROVIDER = /evil|person-|example\.com|<script>/

for (const [name, behavior, detail, request] of HOSTILE)
  t.test(name, async (t) => {
    provider.behavior = behavior
    t.teardown(() => {
      provider.behavior = {}
    })
    const shown = await signInOnPages(request)
    t.equal(shown.status, 502)
    const markup = await shown.text()
    t.match(markup, 'The response of Example account is not valid, so you are not signed in.')
    const event = pages.events.at(-1)
    t.match(event, { kind: 'sign_in_failed', provider: 'company', reason: 'invalid', detail })
    t.notMatch(JSON.stringify(event), VALUES_OF_PROVIDER)
    t.notMatch(markup, VALUES_OF_PROVIDER)
    t.strictSame(pages.recorded, [])
  })

t.test('rejects a response with another state, or without state', async (t) => {
  for (const state of ['other', undefined]) {
    provider.behavior = { query: { state } }
    const shown = await signInOnPages()
    t.equal(shown.status, 400)
    t.match(await shown.text(), 'interaction_expired')
    const failure = await failureOf(signInWith({ query: { state } }))
    t.match(failure, { reason: 'invalid', detail: 'OAUTH_INVALID_RESPONSE' }, 'the client checks it too')
  }
})

t.test('a valid response signs the person in on the same pages', async (t) => {
  const shown = await signInOnPages()
  t.equal(shown.status, 500, 'the response reaches the accounts')
})

t.test('the issuer in the metadata is compared character by character', async (t) => {
  const other = await startOpenidProvider(t) // without a path, the two spellings of the issuer are the same URL
  const client = aClient({ issuer: other.issuer })
  const behavior = { metadata: { issuer: `${other.issuer}/` } }
  t.match(await failureOf(signInWith(behavior, {}, client, other)), {
    reason: 'invalid',
    detail: 'issuer in metadata',
  })
})

t.test('an error response of the provider is reported', async (t) => {
  const rows = [
    ['access_denied', 'denied', 'access_denied'],
    ['login_required', 'denied', 'login_required'],
    ['unmet_authentication_requirements', 'denied', 'unmet_authentication_requirements'],
    ['<b>', 'denied', 'unknown error'],
    ['server_error', 'unavailable', 'authorization response'],
    ['temporarily_unavailable', 'unavailable', 'authorization response'],
  ] as const
  for (const [error, reason, detail] of rows)
    t.match(await failureOf(signInWith({ query: { code: undefined, error } })), { reason, detail }, error)
  const mixedUp = await failureOf(signInWith({ query: { error: 'access_denied', iss: 'https://evil.test' } }))
  t.equal(mixedUp.reason, 'invalid', 'the issuer is checked before the error')
})

t.test('a failure of the provider itself is reported as unavailable', async (t) => {
  const cut = (_request: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{')
    response.destroy()
  }
  const rows: readonly (readonly [string, ProviderBehavior])[] = [
    ['metadata: status 503', { reply: { [discovery]: plain('{}', 503) } }],
    ['metadata: connection reset', { reply: { [discovery]: (request) => void request.socket.destroy() } }],
    ['token: status 500', { reply: { '/token': plain('{"error":"x"}', 500) } }],
    ['token: a response that is cut off', { reply: { '/token': cut } }],
    ['keys: status 502', { reply: { '/keys': plain('', 502) } }],
    [
      'userinfo: status 500',
      {
        claims: { name: undefined },
        reply: { '/userinfo': plain('', 500) },
      },
    ],
  ]
  for (const [name, behavior] of rows)
    t.equal((await failureOf(signInWith(behavior))).reason, 'unavailable', name)
})

t.test('a provider that is away is found again, and its known metadata stay in use', async (t) => {
  const away = await startOpenidProvider(t)
  const client = aClient({ issuer: away.issuer })
  away.behavior = { reply: { [discovery]: plain('', 503) } }
  t.match(await failureOf(client.authorizationUrl(someSecrets(), NOTHING)), { reason: 'unavailable' })
  away.behavior = {}
  t.equal((await signInWith({}, {}, client, away)).subject, 'person-1')
  await away.stop()
  t.ok(await client.authorizationUrl(someSecrets(), NOTHING))
  const secrets = someSecrets()
  const query = away.authorize(await client.authorizationUrl(secrets, NOTHING))
  const request = { maxAgeSeconds: undefined, sinceSeconds: undefined }
  t.match(await failureOf(client.complete(query, secrets, request)), { reason: 'unavailable' })
})

t.test('an older client secret is used until the provider accepts the newest', async (t) => {
  const rotating = await startOpenidProvider(t)
  const client = aClient({ issuer: rotating.issuer }, ['new secret', 'old secret'])
  for (const secrets of [['old secret'], ['old secret', 'new secret'], ['new secret']]) {
    rotating.secrets = secrets
    t.equal((await signInWith({}, {}, client, rotating)).subject, 'person-1', secrets.join(', '))
  }
  rotating.secrets = ['another']
  t.equal((await failureOf(signInWith({}, {}, client, rotating))).reason, 'invalid')
})

t.test('a code of one browser is useless with the secrets of another', async (t) => {
  const client = aClient()
  const [victim, attacker] = [someSecrets(), someSecrets()]
  const request = { maxAgeSeconds: undefined, sinceSeconds: undefined }
  const query = provider.authorize(await client.authorizationUrl(attacker, NOTHING))
  const stolen = new URLSearchParams(query)
  stolen.set('state', victim.state)
  t.match(await failureOf(client.complete(stolen.toString(), victim, request)), {
    reason: 'invalid',
    detail: 'token endpoint: invalid_grant',
  })
})

t.test('metadata are read once for concurrent sign-ins', async (t: Test) => {
  const counted = await startOpenidProvider(t)
  const client = aClient({ issuer: counted.issuer })
  await Promise.all(Array.from({ length: 20 }, () => client.authorizationUrl(someSecrets(), NOTHING)))
  t.equal(counted.paths.filter((path) => path === discovery).length, 1)
})
