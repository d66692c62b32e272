import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

// A complete OAuth client for the command line, without dependencies. The client discovers the server and registers.
// Then it sends the user to the browser, receives the code on the loopback interface, and exchanges the code. Prints
// the token response as JSON on standard output.
const values = readOptions()

type Json = Record<string, unknown>

// RFC 9728: the API names its authorization server. RFC 8414: the authorization server lists its endpoints.
const resource = await getJson(`${values.api}/.well-known/oauth-protected-resource`)
const [issuer] = resource['authorization_servers'] as string[]
const server = await getJson(`${issuer}/.well-known/oauth-authorization-server`)

const { redirectUri, callback } = await listenForCallback()

// RFC 7591: a public client on this computer.
const client = await getJson(String(server['registration_endpoint']), {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    client_name: 'Command line example',
    application_type: 'native',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
  }),
})

// RFC 7636: the use of the code requires the verifier.
const codeVerifier = randomBytes(32).toString('base64url')
const state = randomBytes(16).toString('base64url')
const authorize = new URL(String(server['authorization_endpoint']))
authorize.search = new URLSearchParams({
  response_type: 'code',
  client_id: String(client['client_id']),
  redirect_uri: redirectUri,
  scope: values.scope,
  code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
  code_challenge_method: 'S256',
  state,
}).toString()
process.stderr.write(`Open this URL in a browser, sign in and allow access:\n\n  ${authorize}\n\n`)

const answer = await callback
// RFC 9207: the response must come from the expected server.
if (answer.get('state') !== state || answer.get('iss') !== issuer)
  fail('the response belongs to another request')
const code = answer.get('code')
if (code === null) fail(`no access: ${answer.get('error')}: ${answer.get('error_description')}`)

const tokens = await getJson(String(server['token_endpoint']), {
  method: 'POST',
  body: new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: String(client['client_id']),
    code_verifier: codeVerifier,
    resource: String(resource['resource']),
  }),
})
process.stdout.write(`${JSON.stringify({ client_id: client['client_id'], ...tokens }, null, 2)}\n`)

function readOptions(): { readonly api: string; readonly scope: string } {
  const options = {
    api: { type: 'string', default: 'http://127.0.0.1:8080' },
    scope: { type: 'string', default: 'openid courses:read' },
  } as const
  try {
    return parseArgs({ options }).values
  } catch {
    return fail('usage: npm run get-token -- [--api ADDRESS] [--scope "SCOPE SCOPE ..."]')
  }
}

async function getJson(url: string, init: RequestInit = {}): Promise<Json> {
  const response = await fetch(url, init).catch((error: unknown) =>
    fail(`${url} is unreachable (${String(error)})`),
  )
  const body = (await response.json()) as Json
  if (!response.ok) fail(`${url} answered ${response.status}: ${body['error']}: ${body['error_description']}`)
  return body
}

/** Waits for one request to a loopback redirect URI. Source: RFC 8252 section 7.3. */
async function listenForCallback(): Promise<{ redirectUri: string; callback: Promise<URLSearchParams> }> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const redirectUri = `http://127.0.0.1:${port}/callback`
  const callback = new Promise<URLSearchParams>((resolve) => {
    listener.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', redirectUri)
      if (url.pathname !== '/callback') {
        response.writeHead(404).end()
        return
      }
      response.writeHead(200, { 'content-type': 'text/plain', connection: 'close' })
      response.end('Done. You can close this page and go back to the terminal.\n')
      listener.close()
      resolve(url.searchParams)
    })
  })
  return { redirectUri, callback }
}

function fail(text: string): never {
  process.stderr.write(`get-token: ${text}\n`)
  process.exit(1)
}
