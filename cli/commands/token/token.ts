import { createHash, randomBytes } from 'node:crypto'
import { DEVELOPMENT_ACCOUNTS } from '../../../authorization-server/accounts/sync-development-accounts.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import type { Terminal } from '../../terminal.ts'
import { openPages } from './open-pages.ts'

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/** Gets a token from a development server and prints the token. @returns the exit code that the help documents. */
export async function token(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const baseUrl = readBaseUrl(given.text('url') ?? `http://127.0.0.1:${terminal.env['PORT'] ?? '8080'}`)
  const scope = given.texts('scope').join(' ')
  if (scope === '') throw usageError('token', 'name the scopes: --scope courses:read')
  const username = given.text('sub') ?? 'alice'
  const account = DEVELOPMENT_ACCOUNTS.find((one) => one.username === username)
  if (account === undefined) throw usageError('token', `unknown development account: ${username}`)
  const issued = await obtainToken({ baseUrl, scope, account })
  terminal.out.write(
    given.has('json') ? `${JSON.stringify(issued, undefined, 2)}\n` : `${issued.access_token}\n`,
  )
  return 0
}

/** The passwords of the development accounts are public, so the command sends them only to this machine. */
function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !LOOPBACK.test(url.hostname))
    throw new BootError(
      'ERR_TOKEN_NOT_LOCAL',
      `scopegate token: ${text} is not an address of this machine. The command gets tokens only from \`scopegate dev\` on this machine.`,
    )
  return url.origin
}

/** The displayed members of a token response. RFC 6749 section 5.1. */
type IssuedToken = {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly scope: string
}

type Json = Readonly<Record<string, unknown>>

const TIMEOUT_MS = 10_000
/** No server listens at this address. The command reads the code from the redirect. */
const REDIRECT_URI = 'http://127.0.0.1:9/callback'

/**
 * Gets a token from a development server through its pages: registration, sign-in, consent, code, token.
 * @throws {BootError} when the server is not a development server, or rejects a request. The message contains no part
 * of a token.
 */
async function obtainToken(options: {
  readonly baseUrl: string
  readonly scope: string
  readonly account: { readonly username: string; readonly password: string }
}): Promise<IssuedToken> {
  const { baseUrl, scope, account } = options
  const metadata = await askJson(`${baseUrl}${ENDPOINTS.authorizationServerMetadata}`)
  const endpoint = (name: string): string => {
    const address = metadata[name]
    if (typeof address === 'string' && address.startsWith(`${baseUrl}/`)) return address
    throw failed(`the ${name} of the authorization server must be below ${baseUrl}`)
  }
  if (metadata['issuer'] !== baseUrl)
    throw failed(`${baseUrl} does not issue tokens itself: its issuer is ${String(metadata['issuer'])}`)
  const client = await askJson(endpoint('registration_endpoint'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'scopegate token',
      application_type: 'native',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
    }),
  })
  const clientId = String(client['client_id'])
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const authorize = new URL(endpoint('authorization_endpoint'))
  authorize.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
  }).toString()
  const callback = await openPages(authorize, account)
  // RFC 9207: the response must come from the requested server.
  if (callback.get('state') !== state || callback.get('iss') !== baseUrl)
    throw failed('the response belongs to another request')
  const code = callback.get('code')
  if (code === null) throw failed(`${callback.get('error')}: ${callback.get('error_description')}`)
  const issued = await askJson(endpoint('token_endpoint'), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      client_id: clientId,
      code_verifier: verifier,
    }),
  })
  return {
    access_token: String(issued['access_token']),
    token_type: String(issued['token_type']),
    expires_in: Number(issued['expires_in']),
    scope: String(issued['scope'] ?? scope),
  }
}

async function askJson(url: string, init: RequestInit = {}): Promise<Json> {
  let response: Response
  try {
    response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch (error) {
    throw failed(`${url} does not respond. Start the server first: scopegate dev`, error)
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (typeof body !== 'object' || body === null)
    throw failed(`${url} responded with status ${response.status} and without a JSON object`)
  const { error, error_description: description } = body as Json
  if (!response.ok)
    throw failed(`${url} responded with ${response.status}: ${String(error)}: ${String(description)}`)
  return body as Json
}

function failed(text: string, cause?: unknown): BootError {
  return new BootError('ERR_TOKEN', `scopegate token: ${text}`, { cause })
}
