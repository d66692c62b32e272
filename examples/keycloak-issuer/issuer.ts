import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

// An issuer with the URLs, metadata and tokens of Keycloak, for tests on one machine. It has one realm and one client, and
// gives a token to each caller that knows the public secret below. Never use it outside of a test.
// Usage: node issuer.ts [PORT] [AUDIENCE]
const [port = '8180', audience = 'http://127.0.0.1:8080'] = process.argv.slice(2)
const CLIENT = { id: 'orders-job', secret: 'secret-of-the-example' }
const LIFETIME_SECONDS = 300

const { privateKey, publicKey } = await generateKeyPair('RS256')
const key = { ...(await exportJWK(publicKey)), kid: randomUUID(), use: 'sig', alg: 'RS256' }

const server = createServer(async (request, response) => {
  const { status, body } = await respond(request)
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
})
server.listen(Number(port), '127.0.0.1', () => console.log(`issuer: ${realm()}`))

async function respond(
  request: IncomingMessage,
): Promise<{ readonly status: number; readonly body: object }> {
  switch (`${request.method} ${request.url}`) {
    case 'GET /realms/main/.well-known/openid-configuration':
      return { status: 200, body: metadata() }
    case 'GET /realms/main/protocol/openid-connect/certs':
      return { status: 200, body: { keys: [key] } }
    case 'POST /realms/main/protocol/openid-connect/token':
      return issue(new URLSearchParams(await readText(request)))
    default:
      return { status: 404, body: { error: 'not_found' } }
  }
}

function metadata() {
  return {
    issuer: realm(),
    token_endpoint: `${realm()}/protocol/openid-connect/token`,
    jwks_uri: `${realm()}/protocol/openid-connect/certs`,
    grant_types_supported: ['client_credentials'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}

async function issue(form: URLSearchParams): Promise<{ readonly status: number; readonly body: object }> {
  if (form.get('grant_type') !== 'client_credentials')
    return { status: 400, body: { error: 'unsupported_grant_type' } }
  if (form.get('client_id') !== CLIENT.id || form.get('client_secret') !== CLIENT.secret)
    return { status: 401, body: { error: 'unauthorized_client' } }
  const scope = `profile email ${form.get('scope') ?? ''}`.trim()
  // The claims of a service account at Keycloak. The audience mapper of the client scope adds the API to `aud`.
  const token = await new SignJWT({
    typ: 'Bearer',
    azp: CLIENT.id,
    acr: '1',
    realm_access: { roles: ['offline_access', 'uma_authorization'] },
    resource_access: { account: { roles: ['view-profile'] } },
    scope,
    email_verified: false,
    preferred_username: `service-account-${CLIENT.id}`,
  })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: key.kid })
    .setIssuer(realm())
    .setSubject('0b7c4d1c-0d5f-4a7e-8a44-9f0f6f8c2d10')
    .setAudience([audience, 'account'])
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime(`${LIFETIME_SECONDS}s`)
    .sign(privateKey)
  return {
    status: 200,
    body: { access_token: token, expires_in: LIFETIME_SECONDS, token_type: 'Bearer', scope },
  }
}

function realm(): string {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}/realms/main`
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
