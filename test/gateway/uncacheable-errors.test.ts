import t, { type Test } from 'tap'
import { type GatewayUnderTest, POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'

const HEAD = 'Host: a\r\nConnection: close\r\n'

/** The text must contain one response. */
function cacheControl(text: string): readonly string[] {
  const [head = ''] = text.split('\r\n\r\n')
  return [...head.matchAll(/^cache-control: (.*)$/gim)].map(([, value = '']) => value)
}

async function rejects(t: Test, under: GatewayUnderTest, status: number, bytes: string): Promise<void> {
  const { text, statuses } = await sendBytes(under.gateway.url, bytes)
  t.same(statuses, [status], bytes.slice(0, 60))
  t.same(cacheControl(text), ['no-store'], `${status} ${bytes.slice(0, 60)}`)
}

t.test('an error of the gateway must not be stored by caches', async (t) => {
  const limited = `${POLICY}  - { name: limited, match: { methods: [GET], path: /api/limited }, rateLimit: { requests: 1, per: 1m, by: ip } }\n`
  const under = await startGatewayUnderTest(t, { policy: limited })
  under.issuer.store('poor', { scope: 'posts:read' })
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${HEAD}${more}\r\n`
  for (const [status, bytes] of [
    [400, get('//')],
    [400, get('/pub/x', 'X-A : b\r\n')],
    [400, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
    [401, get('/api/challenged')],
    [401, get('/pub/x', 'Authorization: Bearer bad\r\n')],
    [403, get('/api/courses', 'Authorization: Bearer poor\r\n')],
    [404, get('/nothing')],
    [405, `PUT /api/denied HTTP/1.1\r\n${HEAD}\r\n`],
    [413, `POST /api/small HTTP/1.1\r\n${HEAD}Content-Length: 17\r\n\r\n${'x'.repeat(17)}`],
    [414, get(`/${'x'.repeat(9_000)}`)],
    [431, get('/pub/x', `X-A: ${'x'.repeat(17_000)}\r\n`)],
  ] as const)
    await rejects(t, under, status, bytes)
  t.match(await under.raw(get('/api/limited')), /^HTTP\/1\.1 200 /)
  await rejects(t, under, 429, get('/api/limited'))
  under.upstream.reply((socket) => socket.destroy())
  await rejects(t, under, 502, get('/pub/x'))
})

t.test('the 500 of a request that fails before it has an ID must not be stored by caches', async (t) => {
  let isBroken = false
  const under = await startGatewayUnderTest(t, {
    gateway: {
      tickMs() {
        if (!isBroken) return performance.now()
        isBroken = false
        throw new Error('made up')
      },
    },
  })
  isBroken = true
  const request = `GET /nothing HTTP/1.1\r\n${HEAD}\r\n`
  await rejects(t, under, 500, request)
  isBroken = true
  const { text } = await sendBytes(under.gateway.url, request)
  t.strictSame(text.replace(/^Date: .*\r\n/m, '').split('\r\n'), [
    'HTTP/1.1 500 Internal Server Error',
    'content-type: application/json',
    'connection: close',
    'cache-control: no-store',
    'x-scopegate-error: 1',
    'Transfer-Encoding: chunked',
    '',
    '3e',
    '{"error":"server_error","error_description":"Internal error."}',
    '0',
    '',
    '',
  ])
  const failed = under.log().filter(({ event }) => event === 'request_failed')
  const line = { request_id: '-', err: { message: 'made up' } }
  t.match(failed, [line, line], 'the request has no ID')
})
