import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'

// The steps of a public OAuth client on this computer, without dependencies.

export type Json = Readonly<Record<string, unknown>>

/** The addresses of an API and its authorization server. */
export type Server = {
  readonly resource: string
  readonly issuer: string
  readonly registrationEndpoint: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
}

/** RFC 9728: the API names its authorization server. RFC 8414: the authorization server lists its endpoints. */
export async function discover(api: string): Promise<Server> {
  const resource = await getJson(`${api}/.well-known/oauth-protected-resource`)
  const [issuer] = resource['authorization_servers'] as string[]
  const metadata = await getJson(`${issuer}/.well-known/oauth-authorization-server`)
  return {
    resource: String(resource['resource']),
    issuer: String(issuer),
    registrationEndpoint: String(metadata['registration_endpoint']),
    authorizationEndpoint: String(metadata['authorization_endpoint']),
    tokenEndpoint: String(metadata['token_endpoint']),
  }
}

/** Registers a public client, and returns its client ID. RFC 7591. */
export async function register(server: Server, name: string, redirectUri: string): Promise<string> {
  const client = await getJson(server.registrationEndpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: name,
      application_type: 'native',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }),
  })
  return String(client['client_id'])
}

/**
 * Lets the user allow access in the browser.
 * @returns the parameters of the token request: the code, and the verifier that the use of the code requires (RFC 7636).
 */
export async function authorize(
  server: Server,
  client: { readonly clientId: string; readonly loopback: Loopback },
  scope: string,
): Promise<Readonly<Record<string, string>>> {
  const { clientId, loopback } = client
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const url = new URL(server.authorizationEndpoint)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: loopback.redirectUri,
    scope,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
  }).toString()
  process.stderr.write(`Open this URL in a browser, sign in and allow access:\n\n  ${url}\n\n`)
  const response = await loopback.nextCallback()
  // RFC 9207: the response must come from the expected server.
  if (response.get('state') !== state || response.get('iss') !== server.issuer)
    throw new Error('the response belongs to another request')
  const code = response.get('code')
  if (code === null)
    throw new Error(`no access: ${response.get('error')}: ${response.get('error_description')}`)
  return {
    grant_type: 'authorization_code',
    code,
    redirect_uri: loopback.redirectUri,
    client_id: clientId,
    code_verifier: verifier,
    resource: server.resource,
  }
}

export type Loopback = {
  readonly redirectUri: string
  nextCallback(): Promise<URLSearchParams>
  close(): void
}

/** Receives the responses of the authorization server on a free port of this computer. RFC 8252 section 7.3. */
export async function listenOnLoopback(): Promise<Loopback> {
  let resolveCallback: ((query: URLSearchParams) => void) | undefined
  const listener = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', redirectUri)
    if (pathname !== '/callback') return response.writeHead(404).end()
    resolveCallback?.(searchParams)
    return response
      .writeHead(200, { 'content-type': 'text/plain', connection: 'close' })
      .end('Done. You can close this page and go back to the terminal.\n')
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const redirectUri = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/callback`
  return {
    redirectUri,
    nextCallback: () => new Promise((resolve) => (resolveCallback = resolve)),
    close: () => listener.close(),
  }
}

/** @throws {Error} when there is no response, or when the response is an error. */
export async function getJson(url: string, init: RequestInit = {}): Promise<Json> {
  const response = await fetch(url, init).catch((error: unknown) => {
    throw new Error(`${url} is unreachable (${String(error)})`)
  })
  const body = (await response.json()) as Json
  if (!response.ok)
    throw new Error(`${url} responded ${response.status}: ${body['error']}: ${body['error_description']}`)
  return body
}
