import type { ServerResponse } from 'node:http'
import t from 'tap'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

// Class 50: on each kind of route, the gateway accepts only a valid introspection response for the same token.

const now = Math.floor(Date.now() / 1_000)
const ACTIVE = {
  active: true,
  iss: BASE_URL,
  aud: BASE_URL,
  scope: 'courses:read',
  exp: now + 900,
  sub: 'user-1',
}
const json = (value: unknown, status = 200) => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
})
const raw = (body: string, status = 200, type = 'application/json') => ({ status, type, body })

type Given = { readonly status: number; readonly type: string; readonly body: string }

/** Responses of the issuer, and the status for the client. */
const ANSWERS: readonly (readonly [what: string, status: 401 | 503, answer: Given])[] = [
  ['active: "true"', 503, json({ ...ACTIVE, active: 'true' })],
  ['active: 1', 503, json({ ...ACTIVE, active: 1 })],
  ['active: "1"', 503, json({ ...ACTIVE, active: '1' })],
  ['active: "yes"', 503, json({ ...ACTIVE, active: 'yes' })],
  ['active: [true]', 503, json({ ...ACTIVE, active: [true] })],
  ['active: {}', 503, json({ ...ACTIVE, active: {} })],
  ['active: null', 503, json({ ...ACTIVE, active: null })],
  ['no active', 503, json({ ...ACTIVE, active: undefined })],
  ['Active: true', 503, json({ ...ACTIVE, active: undefined, Active: true })],
  ['active under __proto__', 503, raw(`{"__proto__":${JSON.stringify(ACTIVE)}}`)],
  ['a response inside a list', 503, json([ACTIVE])],
  ['a response inside an object', 503, json({ result: ACTIVE })],
  ['active twice', 503, raw('{"active":false,"active":true}')],
  ['true', 503, json(true)],
  ['null', 503, json(null)],
  ['nothing', 503, raw('')],
  ['a truncated response', 503, raw(JSON.stringify(ACTIVE).slice(0, -1))],
  ['a response with trailing data', 503, raw(`${JSON.stringify(ACTIVE)}x`)],
  ['HTML', 503, raw('<!doctype html><title>Sign in</title>', 200, 'text/html')],
  ['500 with an active response', 503, json(ACTIVE, 500)],
  ['502', 503, raw('bad gateway', 502, 'text/plain')],
  ['503', 503, raw('', 503)],
  ['404 with an active response', 503, json(ACTIVE, 404)],
  ['401 invalid_client for the gateway', 503, json({ error: 'invalid_client' }, 401)],
  ['403', 503, json(ACTIVE, 403)],
  ['201 with an active response', 503, json(ACTIVE, 201)],
  ['a redirect', 503, raw('', 302)],
  ['70 KiB', 503, json({ ...ACTIVE, padding: 'x'.repeat(70_000) })],
  ['400 invalid_client', 503, json({ ...ACTIVE, error: 'invalid_client' }, 400)],
  ['400 unsupported_token_type', 401, json({ ...ACTIVE, error: 'unsupported_token_type' }, 400)],
  ['active: false', 401, json({ active: false })],
  ['active: false with all other members', 401, json({ ...ACTIVE, active: false })],
  ['expired', 401, json({ ...ACTIVE, exp: now - 1 })],
  ['no exp', 401, json({ ...ACTIVE, exp: undefined })],
  ['exp as a string', 401, json({ ...ACTIVE, exp: String(now + 900) })],
  ['another issuer', 401, json({ ...ACTIVE, iss: 'https://other.test' })],
  ['no issuer', 401, json({ ...ACTIVE, iss: undefined })],
  ['not yet valid', 401, json({ ...ACTIVE, nbf: now + 3_600 })],
  ['a token of another type', 401, json({ ...ACTIVE, token_type: 'refresh_token' })],
]

const give = (given: Given) => (response: ServerResponse) => {
  response.writeHead(given.status, { 'content-type': given.type, location: '/elsewhere' })
  response.end(given.body)
}

t.test(
  'class 50: accepts a token only for active: true, and caches no failure as a token status',
  async (t) => {
    const { gateway, issuer, upstream } = await startGatewayUnderTest(t)
    for (const [index, [what, status, answer]] of ANSWERS.entries()) {
      for (const path of ['/api/courses', '/api/challenged', '/pub/x']) {
        issuer.answerWith(give(answer))
        const token = `token-${index}-${path}`
        const rejected = await send(gateway.url + path, { token })
        t.equal(rejected.status, status, `${what} at ${path}`)
        t.equal(rejected.headers.has('retry-after'), status === 503)
        t.equal(rejected.headers.has('www-authenticate'), status === 401)
        t.equal(rejected.json['error'], status === 401 ? 'invalid_token' : 'upstream_unavailable')
        // Now the issuer sends a valid response. The gateway caches a negative token status, but not a failure.
        issuer.answerWith(give(json(ACTIVE)))
        const after = await send(`${gateway.url}/api/courses`, { token })
        t.equal(after.status, status === 503 ? 200 : 401, `${what}, then a valid response`)
      }
    }
    t.equal(
      upstream.requests.length,
      3 * ANSWERS.filter(([, status]) => status === 503).length,
      'the gateway forwarded only requests with an active token',
    )
  },
)

t.test('class 50: responds with 503 within the deadline when an issuer never responds', async (t) => {
  const { gateway, issuer, upstream } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((one) =>
        one.introspection === undefined
          ? one
          : { ...one, introspection: { ...one.introspection, timeoutMs: 100 } },
      ),
    }),
  })
  issuer.answerWith(() => undefined)
  t.equal((await send(`${gateway.url}/pub/x`, { token: 'a' })).status, 503)
  issuer.answerWith((response) => response.destroy())
  t.equal((await send(`${gateway.url}/pub/x`, { token: 'b' })).status, 503)
  t.equal(upstream.requests.length, 0)
})
