import * as oauth from 'oauth4webapi'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { beforeAuthorizationServer } from '../fixtures/before-authorization-server.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const insecure = { [oauth.allowInsecureRequests]: true }
const REDIRECT_URI = 'http://127.0.0.1:49152/callback'
const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: resources
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: mcp, match: { methods: [POST], path: "/mcp/**" }, scopes: { all: [courses:read] } }
  - { name: courses, match: { methods: [GET], path: /api/courses }, scopes: { all: [courses:read] } }
`

t.test('a client that has only the URL of a resource gets a token for this resource only', async (t) => {
  const [port, serverPort] = [await quietPort(), await quietPort()]
  const base = `http://127.0.0.1:${port}`
  const resource = `${base}/mcp`
  const server = await startServer(t, {
    issuer: base,
    listen: { host: '127.0.0.1', port: serverPort },
    resources: [base, resource],
  })
  const serverUrl = `http://127.0.0.1:${serverPort}`
  const { upstream } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...beforeAuthorizationServer(config, { base, port, serverUrl, gatewaySecret: server.gatewaySecret }),
      resources: [{ path: '/mcp' }],
    }),
  })

  // The challenge contains the metadata URL. The client also computes this URL from the resource, and compares the two
  // URLs.
  const nobody = await send(resource, { method: 'POST', body: '{}' })
  t.equal(nobody.status, 401)
  const { parameters } = parseChallenge(nobody.headers.get('www-authenticate'))
  const metadata = await oauth.resourceDiscoveryRequest(new URL(resource), insecure)
  t.equal(metadata.url, parameters['resource_metadata'])
  const described = await oauth.processResourceDiscoveryResponse(new URL(resource), metadata)
  t.same(described.authorization_servers, [base])
  t.same(described.scopes_supported, ['courses:read'])

  const issuer = new URL(described.authorization_servers?.[0] ?? '')
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  )
  t.same(as['protected_resources'], [base, described.resource])
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none', application_type: 'native' },
      insecure,
    ),
  )
  const verifier = oauth.generateRandomCodeVerifier()
  const address = new URL(as.authorization_endpoint ?? '')
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    scope: parameters['scope'] ?? '',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'a-state',
    resource: described.resource,
  }).toString()
  const location = await signIn(openBrowser(base), address)
  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      oauth.validateAuthResponse(as, client, location, 'a-state'),
      REDIRECT_URI,
      verifier,
      { additionalParameters: { resource: described.resource }, ...insecure },
    ),
  )
  for (const secret of [tokens.access_token, tokens.refresh_token, verifier]) server.secret(secret)

  const token = tokens.access_token
  const call = await send(`${resource}/tools`, { method: 'POST', body: '{}', token })
  t.equal(call.status, 200)
  t.same(upstream.seen('x-auth-scope'), ['courses:read'])
  t.equal(upstream.requests.length, 1)
  const elsewhere = await send(`${base}/api/courses`, { token })
  t.match(
    elsewhere,
    { status: 401, json: { error: 'invalid_token' } },
    'another resource rejects the token with the same scope',
  )
  t.equal(upstream.requests.length, 1)
})
