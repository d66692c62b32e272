import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import {
  registerFallbackHandlers,
  replyToBrokenConnection,
  replyToInvalidUrl,
} from '../../../authorization-server/endpoints/fallback-handlers.ts'
import { InteractionError } from '../../../authorization-server/engine/interactions.ts'
import { StoreError } from '../../../authorization-server/store/store.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { headerSet } from '../../fixtures/header-set.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'

const logged: unknown[] = []
const logger = { error: (fields: unknown, text: string) => logged.push([fields, text]) }
const failures: Error[] = []

const app = Fastify({
  genReqId: () => 'request-1',
  clientErrorHandler: replyToBrokenConnection,
  frameworkErrors: (_error, _request, reply) => void replyToInvalidUrl(reply),
})
registerFallbackHandlers(app, { logger: logger as unknown as Logger })
app.get('/fails', async () => {
  throw failures.shift()
})
app.post('/api/oauth/token', { bodyLimit: 4 }, async () => '')
const url = await app.listen({ host: '127.0.0.1', port: 0 })
t.teardown(() => app.close())

const JSON_ERROR = {
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'x-request-id': 'request-1',
}
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, X-Request-Id, Retry-After, ETag, DPoP-Nonce',
}

t.test('an unknown path gets 404 with all expected headers', async (t) => {
  const answer = await send(`${url}/unknown?x`)
  t.equal(answer.status, 404)
  t.equal(
    answer.text,
    '{"error":"not_found","error_description":"No endpoint matches this path. /.well-known/oauth-authorization-server lists the OAuth endpoints."}',
  )
  t.strictSame(headerSet(answer.headers), JSON_ERROR)
})

t.test('an unsupported method gets 405 with all expected headers', async (t) => {
  for (const [path, allow, cors] of [
    ['/oauth/authorize?a=b', 'GET', {}],
    ['/api/oauth/token?a=b', 'POST, OPTIONS', CORS],
    ['/api/oauth/userinfo', 'GET, HEAD, POST, OPTIONS', CORS],
    ['/api/oauth/jwks', 'GET, HEAD, OPTIONS', CORS],
  ] as const) {
    const answer = await send(`${url}${path}`, { method: 'PUT' })
    t.equal(answer.status, 405)
    t.strictSame(answer.json, {
      error: 'method_not_allowed',
      error_description: `Allowed: ${allow}.`,
    })
    t.strictSame(headerSet(answer.headers), { ...JSON_ERROR, ...cors, allow })
  }
})

t.test('a preflight gets 204 with all expected headers', async (t) => {
  for (const [path, methods] of [
    ['/api/oauth/token', 'POST, OPTIONS'],
    ['/api/oauth/userinfo', 'GET, HEAD, POST, OPTIONS'],
    ['/.well-known/openid-configuration', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const answer = await send(`${url}${path}`, { method: 'OPTIONS' })
    t.equal(answer.status, 204)
    t.strictSame(headerSet(answer.headers), {
      ...CORS,
      'access-control-allow-headers': 'authorization, content-type, dpop, mcp-protocol-version, traceparent',
      'access-control-allow-methods': methods,
      'access-control-max-age': '3600',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'request-1',
    })
  }
})

t.test('each error gets its status, and a server error is logged', async (t) => {
  const withStatus = (statusCode: number) => Object.assign(new Error('secret'), { statusCode })
  const malformed = {
    error: 'invalid_request',
    error_description:
      'The server cannot process this request. Check its path, Content-Type and Content-Length.',
  }
  const broken = {
    error: 'server_error',
    error_description: 'Internal error. Quote the request ID in reports.',
  }
  const cases = [
    [
      new InteractionError('ERR_INTERACTION_EXPIRED', 'secret'),
      400,
      {
        error: 'invalid_request',
        error_description: 'The sign-in expired or is already complete. Go back to the app and start again.',
      },
    ],
    [
      new StoreError('ERR_STORE_UNAVAILABLE', 'secret'),
      503,
      {
        error: 'temporarily_unavailable',
        error_description: 'The authorization server cannot use its store. Try again in a moment.',
      },
    ],
    [
      withStatus(413),
      413,
      { error: 'invalid_request', error_description: 'The body is larger than this endpoint accepts.' },
    ],
    [withStatus(400), 400, malformed],
    [withStatus(499), 400, malformed],
    [withStatus(399), 500, broken],
    [withStatus(500), 500, broken],
    [new Error('secret'), 500, broken],
  ] as const
  for (const [failure, status, body] of cases) {
    failures.push(failure)
    const answer = await send(`${url}/fails`)
    t.equal(answer.status, status)
    t.strictSame(answer.json, body)
    const retryAfter = status === 503 ? { 'retry-after': '1' } : {}
    t.strictSame(headerSet(answer.headers), { ...JSON_ERROR, ...retryAfter })
    const line = [
      { event: 'failed', request_id: 'request-1', 'client.address': '127.0.0.1', err: failure },
      'request failed',
    ]
    t.strictSame(logged.splice(0), status >= 500 ? [line] : [])
  }
})

t.test('a body above the limit gets 413, and the connection stays open', async (t) => {
  const head = (length: number) =>
    `POST /api/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n`
  const { text, statuses } = await sendBytes(
    url,
    `${head(5)}\r\n12345${head(4)}Connection: close\r\n\r\n1234`,
  )
  t.strictSame(statuses, [413, 200])
  t.notMatch(text.split('\r\n\r\n')[0], /connection: close/i)
})

t.test('invalid bytes get an exact response, and the server closes the connection', async (t) => {
  const response = (status: string, length: number, description: string) =>
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n{"error":"invalid_request","error_description":"${description}"}`
  t.equal(
    (await sendBytes(url, 'nonsense\r\n\r\n')).text,
    response('400 Bad Request', 84, 'The request is not valid HTTP/1.1.'),
  )
  t.equal(
    (await sendBytes(url, `GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`)).text,
    response('431 Request Header Fields Too Large', 93, 'The request line and headers are too large.'),
  )
  const slow = createServer({ headersTimeout: 1, requestTimeout: 1, connectionsCheckingInterval: 1 })
  slow.on('clientError', replyToBrokenConnection)
  await once(slow.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => slow.close())
  const { port } = slow.address() as AddressInfo
  t.equal(
    (await sendBytes(`http://127.0.0.1:${port}`, 'GET / HTTP/1.1\r\n')).text,
    response('408 Request Timeout', 85, 'The request did not arrive in time.'),
  )
})

t.test('replyToBrokenConnection() destroys a socket that is reset or not writable', async (t) => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.teardown(() => listener.close())
  const { port } = listener.address() as AddressInfo
  for (const [code, ends] of [
    ['ECONNRESET', false],
    ['HPE_INVALID_METHOD', true],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    if (ends) socket.end()
    replyToBrokenConnection(Object.assign(new Error(code), { code }), socket)
    t.equal(socket.destroyed, true, code)
    t.equal(socket.bytesWritten, 0, code)
  }
})

t.test('a path that cannot be decoded gets 400', async (t) => {
  const { text } = await sendBytes(url, 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const [head, body] = text.split('\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/)
  t.match(head, '\r\ncache-control: no-store\r\n')
  t.equal(body, '{"error":"invalid_request","error_description":"The path of the request is not valid."}')
})
