import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'

// A native app with AppAuth. AppAuth does not register clients, so the developer of the app registers the client. The
// modules of AppAuth import other modules without the extension of the file, because bundlers permit this.
registerHooks({
  resolve: (name, context, next) =>
    next(
      /\/@openid\/appauth\//.test(context.parentURL) && /^\..*\/\w+$/.test(name) ? `${name}.js` : name,
      context,
    ),
})
const {
  AuthorizationNotifier,
  AuthorizationRequest,
  AuthorizationServiceConfiguration,
  BaseTokenRequestHandler,
  GRANT_TYPE_AUTHORIZATION_CODE,
  GRANT_TYPE_REFRESH_TOKEN,
  RevokeTokenRequest,
  TokenRequest,
} = await import('@openid/appauth')
const { NodeBasedHandler, NodeCrypto, NodeRequestor } = await import(
  '@openid/appauth/built/src/node_support/index.js'
)

const PORT = 32_111
const redirectUri = `http://127.0.0.1:${PORT}/callback`
const api = process.env.API_URL

const challenge = (await fetch(api)).headers.get('www-authenticate')
const [, metadataUrl] = /resource_metadata="([^"]+)"/.exec(challenge)
const {
  authorization_servers: [issuer],
} = await getJson(metadataUrl)
const requestor = new NodeRequestor()
const server = await AuthorizationServiceConfiguration.fetchFromIssuer(issuer, requestor)
const { client_id: clientId } = await getJson(`${issuer}/api/oauth/register`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ client_name: 'AppAuth', redirect_uris: [redirectUri] }),
})

const notifier = new AuthorizationNotifier()
const handler = new NodeBasedHandler(PORT)
handler.setAuthorizationNotifier(notifier)
const authorized = new Promise((resolve, reject) =>
  notifier.setAuthorizationListener((request, response, error) =>
    response ? resolve({ request, response }) : reject(new Error(error?.error)),
  ),
)
handler.performAuthorizationRequest(
  server,
  new AuthorizationRequest(
    { client_id: clientId, redirect_uri: redirectUri, scope: 'openid courses:read', response_type: 'code' },
    new NodeCrypto(),
  ),
)
const { request, response } = await authorized
const tokens = new BaseTokenRequestHandler(requestor)
const perform = (parameters) =>
  tokens.performTokenRequest(
    server,
    new TokenRequest({ client_id: clientId, redirect_uri: redirectUri, ...parameters }),
  )
let issued = await perform({
  grant_type: GRANT_TYPE_AUTHORIZATION_CODE,
  code: response.code,
  extras: { code_verifier: request.internal.code_verifier },
})
await call()
for (const attempt of [1, 2]) {
  const previous = issued.refreshToken
  issued = await perform({ grant_type: GRANT_TYPE_REFRESH_TOKEN, refresh_token: previous })
  assert.notEqual(issued.refreshToken, previous, `refresh ${attempt} rotates the refresh token`)
  await call()
}
await tokens.performRevokeTokenRequest(
  server,
  new RevokeTokenRequest({ token: issued.refreshToken, client_id: clientId }),
)

async function call() {
  const { status } = await fetch(api, { headers: { authorization: `Bearer ${issued.accessToken}` } })
  assert.equal(status, 200)
}

async function getJson(url, init) {
  const answer = await fetch(url, init)
  assert.ok(answer.ok, `${url} answered ${answer.status}`)
  return answer.json()
}
