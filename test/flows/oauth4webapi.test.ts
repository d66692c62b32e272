import * as oauth from 'oauth4webapi'
import t from 'tap'
import { openBrowser } from '../fixtures/open-browser.ts'
import { send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// The complete flow with oauth4webapi. This library rejects each response that violates a specification.
const SCOPE = 'openid email students:read'
const REDIRECT_URI = 'http://127.0.0.1:49210/callback'
const INSECURE = { [oauth.allowInsecureRequests]: true } as const // the test uses http on the loopback address

const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)

for (const method of ['none', 'client_secret_post'] as const) {
  t.test(`completes the flow for a client with token_endpoint_auth_method ${method}`, async (t) => {
    const server = await discover()
    t.ok(server.scopes_supported?.includes('students:read'))
    const { client, authentication } = await register(server, method)
    const first = await authorize(server, client, authentication)
    t.match(first.claims, { iss: baseUrl, aud: client.client_id, sub: String, nonce: first.nonce })

    const user = await oauth.processUserInfoResponse(
      server,
      client,
      String(first.claims?.sub),
      await oauth.userInfoRequest(server, client, first.tokens.access_token, INSECURE),
    )
    t.match(user, { email: /@/ })

    t.equal((await call(first.tokens.access_token, '/api/students')).status, 200)
    const anonymous = await send(`${baseUrl}/api/students`)
    t.equal(anonymous.status, 200)
    t.notOk(anonymous.headers.has('www-authenticate'))
    t.match(await challenge('not-a-token', '/api/students'), {
      status: 401,
      cause: [{ parameters: { error: 'invalid_token', resource_metadata: prmUrl() } }],
    })
    t.match(await challenge(first.tokens.access_token, '/api/students', 'POST'), {
      status: 403,
      cause: [
        {
          parameters: {
            error: 'insufficient_scope',
            scope: 'students:write',
            resource_metadata: prmUrl(),
          },
        },
      ],
    })

    const second = await refresh(server, client, authentication, first.tokens.refresh_token)
    const third = await refresh(server, client, authentication, second.refresh_token)
    t.equal((await call(third.access_token, '/api/students')).status, 200)

    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, authentication, third.access_token, INSECURE),
    )
    await until('the gateway rejects the revoked token', async () => {
      const { status } = await send(`${baseUrl}/api/students`, { token: third.access_token })
      return status === 401
    })

    const other = await authorize(server, client, authentication)
    const heir = await refresh(server, client, authentication, other.tokens.refresh_token)
    const last = await refresh(server, client, authentication, heir.refresh_token)
    t.match(
      await refresh(server, client, authentication, other.tokens.refresh_token).catch(
        (error: unknown) => error,
      ),
      { status: 400, error: 'invalid_grant' },
      'the successor was used',
    )
    const repeated = await refresh(server, client, authentication, heir.refresh_token)
    t.equal(repeated.access_token, last.access_token, 'a repeated request gets the same response')
    t.equal(repeated.refresh_token, last.refresh_token)
    const next = await refresh(server, client, authentication, last.refresh_token)
    t.equal((await call(next.access_token, '/api/students')).status, 200)
  })
}

async function discover(): Promise<oauth.AuthorizationServer> {
  const resource = await oauth.processResourceDiscoveryResponse(
    new URL(baseUrl),
    await oauth.resourceDiscoveryRequest(new URL(baseUrl), INSECURE),
  )
  const issuer = new URL(String(resource.authorization_servers?.[0]))
  const oidc = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...INSECURE, algorithm: 'oidc' }),
  )
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...INSECURE, algorithm: 'oauth2' }),
  )
  t.equal(oidc.token_endpoint, server.token_endpoint)
  return server
}

async function register(server: oauth.AuthorizationServer, method: 'none' | 'client_secret_post') {
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      server,
      {
        client_name: 'oauth4webapi flow',
        application_type: 'native',
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: method,
      },
      INSECURE,
    ),
  )
  const secret = client['client_secret']
  scopegate.secret(typeof secret === 'string' ? secret : undefined)
  const authentication = method === 'none' ? oauth.None() : oauth.ClientSecretPost(String(secret))
  return { client, authentication }
}

async function authorize(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  authentication: oauth.ClientAuth,
) {
  const verifier = oauth.generateRandomCodeVerifier()
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
  const url = new URL(String(server.authorization_endpoint))
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    resource: baseUrl,
  }).toString()
  const redirect = await signIn(browser, url)
  const callback = oauth.validateAuthResponse(server, client, redirect, state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    callback,
    REDIRECT_URI,
    verifier,
    { ...INSECURE, additionalParameters: { resource: baseUrl } },
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(server, response, INSECURE)
  for (const secret of [callback.get('code') ?? undefined, verifier]) scopegate.secret(secret)
  keep(tokens)
  return { tokens, nonce, claims: oauth.getValidatedIdTokenClaims(tokens) }
}

async function refresh(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  authentication: oauth.ClientAuth,
  refreshToken: string | undefined,
): Promise<oauth.TokenEndpointResponse> {
  const tokens = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, authentication, refreshToken ?? '', INSECURE),
  )
  keep(tokens)
  return tokens
}

function keep(tokens: oauth.TokenEndpointResponse): void {
  for (const secret of [tokens.access_token, tokens.refresh_token, tokens.id_token]) scopegate.secret(secret)
}

function call(token: string, path: string, method = 'GET'): Promise<Response> {
  return oauth.protectedResourceRequest(token, method, new URL(path, baseUrl), undefined, null, INSECURE)
}

async function challenge(token: string, path: string, method?: string): Promise<unknown> {
  return call(token, path, method).catch((error: unknown) => error)
}

function prmUrl(): string {
  return `${baseUrl}/.well-known/oauth-protected-resource`
}
