import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { authorize, discover, type Json, listenOnLoopback, register } from '../clients/oauth.ts'
import { createDpopKey } from './dpop.ts'

// A native app (RFC 8252). It reads requests such as `GET /api/courses` from standard input, and keeps its tokens in
// memory. It refreshes the access token before its expiry, and asks for more access if a scope is missing.
const { values } = parseArgs({
  options: {
    api: { type: 'string', default: `http://127.0.0.1:${process.env['PORT'] ?? '8080'}` },
    scope: { type: 'string', default: 'openid courses:read' },
    dpop: { type: 'boolean', default: false },
  },
})
/** The app refreshes a token that expires within this time. Milliseconds. */
const REFRESH_BEFORE_MS = 30_000

type Tokens = {
  readonly access: string
  readonly refresh: string
  readonly scope: string
  readonly expiresAtMs: number
}

const server = await discover(values.api)
const loopback = await listenOnLoopback()
const clientId = await register(server, 'Native example', loopback.redirectUri)
const key = values.dpop ? createDpopKey() : undefined
const nonces = new Map<string, string>()

let tokens = await signIn(values.scope)
for await (const line of createInterface({ input: process.stdin })) {
  const [method = '', path = ''] = line.trim().split(/\s+/)
  if (method === '') continue
  if (method === 'refresh') tokens = await refresh()
  else console.log(await callApi(method, path))
}
loopback.close()

async function signIn(scope: string): Promise<Tokens> {
  return requestTokens(await authorize(server, { clientId, loopback }, scope))
}

async function refresh(): Promise<Tokens> {
  const refreshed = await requestTokens({
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh,
    client_id: clientId,
  })
  process.stderr.write('The app refreshed its access token.\n')
  return refreshed
}

async function requestTokens(parameters: Readonly<Record<string, string>>): Promise<Tokens> {
  const response = await send('POST', server.tokenEndpoint, new URLSearchParams(parameters))
  const body = (await response.json()) as Json
  if (!response.ok) throw new Error(`no token: ${body['error']}: ${body['error_description']}`)
  return {
    access: String(body['access_token']),
    refresh: String(body['refresh_token']),
    scope: String(body['scope']),
    expiresAtMs: Date.now() + Number(body['expires_in']) * 1_000,
  }
}

/** Sends a request of the user. @returns the status and the body. */
async function callApi(method: string, path: string): Promise<string> {
  if (Date.now() > tokens.expiresAtMs - REFRESH_BEFORE_MS) tokens = await refresh()
  let response = await send(method, `${values.api}${path}`)
  let body = await response.text()
  const { error, scope } = response.status === 403 ? (JSON.parse(body) as Json) : {}
  if (error === 'insufficient_scope') {
    // Asks for the current and the missing scopes, so that the app keeps its access.
    tokens = await signIn([...new Set(`${tokens.scope} ${scope}`.split(' '))].join(' '))
    response = await send(method, `${values.api}${path}`)
    body = await response.text()
  }
  return `${response.status} ${body}`
}

/** Sends a request with the token, and with a proof of the key. Repeats the request if the server requires a nonce. */
async function send(method: string, url: string, form?: URLSearchParams): Promise<Response> {
  const token = form === undefined ? tokens.access : undefined
  const { origin } = new URL(url)
  for (let attempt = 1; ; attempt += 1) {
    const nonce = nonces.get(origin)
    const response = await fetch(url, {
      method,
      headers: {
        ...(token === undefined
          ? {}
          : { authorization: `${key === undefined ? 'Bearer' : 'DPoP'} ${token}` }),
        ...(key === undefined ? {} : { dpop: key.prove({ method, url, token, nonce }) }),
      },
      ...(form === undefined ? {} : { body: form }),
    })
    const next = response.headers.get('dpop-nonce')
    if (next !== null) nonces.set(origin, next)
    const isNonceMissing =
      next !== null && next !== nonce && (response.status === 400 || response.status === 401)
    if (!isNonceMissing || attempt === 2) return response
    await response.body?.cancel()
  }
}
