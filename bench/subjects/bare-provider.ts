// The peer of the bundled authorization server: oidc-provider with its in-memory adapter and the smallest possible
// sign-in and consent pages. The peer and the bundled server have the same features and paths. The peer has no audit
// log, no metrics, no passwords, no rate limits and no form tokens.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js'
import LRU from 'oidc-provider/lib/helpers/lru.js'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { announceListening } from '../announce-listening.ts'

/**
 * Maximum number of entries in the adapter. With the default of 1,000, the adapter would evict the tokens of the
 * benchmark during one round.
 */
const MAX_ENTRIES = 10_000_000
const DAY_SECONDS = 86_400

function createProvider(issuer: string): Provider {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const storage = new LRU({ maxSize: MAX_ENTRIES })
  const provider = new Provider(issuer, {
    adapter: (model) => new MemoryAdapter(model, storage),
    jwks: { keys: [{ ...key, kty: 'EC', use: 'sig', alg: 'ES256', kid: 'bench' }] },
    clients: [
      {
        client_id: 'gateway',
        client_secret: String(process.env['BENCH_GATEWAY_SECRET']),
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    clientAuthMethods: ['none', 'client_secret_post'],
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
    },
    scopes: ['openid', 'courses:read'],
    pkce: { required: () => true },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    routes: {
      authorization: ENDPOINTS.authorization,
      token: ENDPOINTS.token,
      registration: ENDPOINTS.registration,
      introspection: ENDPOINTS.introspection,
    },
    interactions: { url: (_ctx, { uid }) => `${ENDPOINTS.interaction}/${uid}` },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    expiresWithSession: async () => false,
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: DAY_SECONDS,
      AuthorizationCode: DAY_SECONDS,
      Grant: DAY_SECONDS,
      IdToken: DAY_SECONDS,
      Interaction: DAY_SECONDS,
      RefreshToken: DAY_SECONDS,
      Session: DAY_SECONDS,
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'openid courses:read',
          audience: issuer,
          accessTokenFormat: 'opaque',
        }),
      },
    },
  })
  provider.silent = true
  return provider
}

/** Shows the page of an interaction, or receives its form. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const details = await provider.interactionDetails(request, response)
  if (request.method === 'GET') {
    const isSignIn = details.prompt.name === 'login'
    const fields = isSignIn ? '<input name="username"><input type="password" name="password">' : ''
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
      .end(
        `<!doctype html><form method="post" action="${ENDPOINTS.interaction}/${details.uid}/${isSignIn ? 'sign-in' : 'consent'}">${fields}<button>Continue</button></form>`,
      )
    return
  }
  request.resume()
  const result = request.url?.endsWith('/sign-in')
    ? { login: { accountId: 'alice' } }
    : { consent: { grantId: await saveGrant(provider, details) } }
  const location = await provider.interactionResult(request, response, result)
  response.writeHead(303, { location }).end()
}

async function saveGrant(
  provider: Provider,
  { params, session }: Awaited<ReturnType<Provider['interactionDetails']>>,
): Promise<string> {
  const grant = new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) })
  grant.addOIDCScope(String(params['scope']))
  grant.addResourceScope(provider.issuer, String(params['scope']))
  return grant.save()
}

const server = createServer()
server.once('listening', () => {
  const { port } = server.address() as AddressInfo
  const provider = createProvider(`http://127.0.0.1:${port}`)
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (request.url?.startsWith(`${ENDPOINTS.interaction}/`)) void interact(provider, request, response)
    else callback(request, response)
  })
})
announceListening(server)
