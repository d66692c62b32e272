import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const HOST = 'Host: api.test\r\n'
const END = 'Connection: close\r\n\r\n'

/** Attack class, sent bytes and expected status. The upstream must not receive a byte of these requests. */
const REJECTED: readonly (readonly [what: string, bytes: string, status: number])[] = [
  [
    'Content-Length and Transfer-Encoding',
    `POST /pub/x HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  [
    'two different Content-Lengths',
    `POST /pub/x HTTP/1.1\r\n${HOST}Content-Length: 0\r\nContent-Length: 31\r\n\r\n`,
    400,
  ],
  [
    'two equal Content-Lengths',
    `POST /pub/x HTTP/1.1\r\n${HOST}Content-Length: 1\r\ncontent-length: 1\r\n\r\nx`,
    400,
  ],
  ['a Content-Length with a sign', `POST /pub/x HTTP/1.1\r\n${HOST}Content-Length: +1\r\n\r\nx`, 400],
  ['a negative Content-Length', `POST /pub/x HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\nx`, 400],
  ['a Content-Length in hex', `POST /pub/x HTTP/1.1\r\n${HOST}Content-Length: 0x1\r\n\r\nx`, 400],
  [
    'a Transfer-Encoding with a tab',
    `POST /pub/x HTTP/1.1\r\n${HOST}Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n`,
    400,
  ],
  [
    'an unknown Transfer-Encoding',
    `POST /pub/x HTTP/1.1\r\n${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  ['a folded header', `GET /pub/x HTTP/1.1\r\n${HOST}X-A: 1\r\n  2\r\n\r\n`, 400],
  ['a space before the colon', `GET /pub/x HTTP/1.1\r\nHost : a\r\n\r\n`, 400],
  ['NUL in a header', `GET /pub/x HTTP/1.1\r\n${HOST}X-A: a\0b\r\n\r\n`, 400],
  ['a bare carriage return in a header', `GET /pub/x HTTP/1.1\r\n${HOST}X-A: a\rb\r\n\r\n`, 400],
  ['no Host', 'GET /pub/x HTTP/1.1\r\n\r\n', 400],
  ['an empty Host', 'GET /pub/x HTTP/1.1\r\nHost: \r\n\r\n', 400],
  ['two Hosts', `GET /pub/x HTTP/1.1\r\n${HOST}Host: b\r\n\r\n`, 400],
  ['two equal Hosts', `GET /pub/x HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
  ['a Host with user info', 'GET /pub/x HTTP/1.1\r\nHost: a@b\r\n\r\n', 400],
  ['an unknown method', `BREW /pub/x HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['HTTP/1.2', `GET /pub/x HTTP/1.2\r\n${HOST}\r\n`, 400],
  ['HTTP/0.9', 'GET /pub/x\r\n\r\n', 400],
  ['HTTP/2 without an upgrade', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['CONNECT', `CONNECT api.test:443 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['GET with an asterisk', `GET * HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an absolute form of another host', `GET http://evil.test/pub/x HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a fragment', `GET /pub/x#y HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a dot segment', `GET /pub/../api/denied HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an encoded dot segment', `GET /pub/%2e%2e/api/denied HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['two slashes', `GET //api/denied HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an encoded slash', `GET /pub%2fx HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a backslash', `GET /pub\\x HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
  ['TRACE', `TRACE /pub/x HTTP/1.1\r\n${HOST}${END}`, 405],
  ['a method that no policy names', `PROPFIND /pub/x HTTP/1.1\r\n${HOST}${END}`, 405],
  ['a target that is too long', `GET /pub/${'a'.repeat(9_000)} HTTP/1.1\r\n${HOST}\r\n`, 414],
  ['headers that are too large', `GET /pub/x HTTP/1.1\r\n${HOST}X-A: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
]

t.test('the gateway rejects bytes that two parsers can interpret differently', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  for (const [what, bytes, status] of REJECTED) {
    const answer = await raw(bytes)
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), what)
    t.match(answer, /\r\nx-scopegate-error: 1\r\n/i, `${what}: a local reply`)
    t.match(answer, /\r\nconnection: close\r\n/i, `${what}: the gateway reads nothing more`)
    t.match(
      answer.split('\r\n\r\n')[1],
      /^\{"error":"[a-z_]+","error_description":".+","request_id":".+"\}$/,
      what,
    )
  }
  t.equal(upstream.bytes, '', 'nothing was forwarded')
})

t.test('an encoded letter is decoded before the route match, and forwarded decoded', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  t.match(await raw(`GET /api/%64enied HTTP/1.1\r\n${HOST}${END}`), /^HTTP\/1\.1 401 /)
  t.equal(upstream.requests.length, 0)
  t.match(await raw(`GET /p%75b/%7ea%2Db/%c3%a9?q=%64/../%2f HTTP/1.1\r\n${HOST}${END}`), /^HTTP\/1\.1 200 /)
  t.equal(upstream.requests[0]?.target, '/pub/~a-b/%C3%A9?q=%64/../%2f', 'the query is unchanged')
})

t.test('the gateway accepts a target in absolute form with the base URL, and uses its path', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  t.match(await raw(`GET http://api.test/pub/x HTTP/1.1\r\n${HOST}${END}`), /^HTTP\/1\.1 200 /)
  t.equal(upstream.requests[0]?.target, '/pub/x')
})

t.test('OPTIONS * returns the supported methods', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  t.match(await raw(`OPTIONS * HTTP/1.1\r\n${HOST}${END}`), /^HTTP\/1\.1 204 .*\r\nallow: GET/s)
  t.equal(upstream.bytes, '')
})

t.test('an HTTP/1.0 request gets a response, and the connection closes', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  t.match(await raw('GET /pub/x HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is)
  t.equal(upstream.requests.length, 1)
})

t.test('an Upgrade is not forwarded, and the bytes after it are not read', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  const answer = await raw(
    `GET /pub/x HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: foo\r\n\r\nGET /api/denied HTTP/1.1\r\n${HOST}${END}`,
  )
  t.match(answer, /\r\nconnection: close\r\n/i)
  t.same(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200'])
  t.equal(upstream.requests.length, 1)
  t.same(upstream.seen('upgrade'), [])
})

t.test('a rejected body is never read as the next request', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  const smuggled = `GET /pub/smuggled HTTP/1.1\r\n${HOST}\r\n`
  const small = await raw(
    `POST /api/challenged HTTP/1.1\r\n${HOST}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}GET /pub/next HTTP/1.1\r\n${HOST}${END}`,
  )
  t.same(small.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 401', 'HTTP/1.1 200'], 'a small body is drained')
  t.same(
    upstream.requests.map((request) => request.target),
    ['/pub/next'],
  )
  const chunked = await raw(
    `POST /api/challenged HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n${smuggled}`,
  )
  t.match(chunked, /^HTTP\/1\.1 401 .*\r\nconnection: close\r\n/is)
  t.same(
    chunked.match(/HTTP\/1\.1 \d+/g),
    ['HTTP/1.1 401'],
    'after a body without an announced length nothing is read',
  )
  t.equal(upstream.requests.length, 1)
})

t.test('bytes after a malformed request are ignored', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  const answer = await raw(`GET /pub/../x HTTP/1.1\r\n${HOST}\r\nGET /pub/next HTTP/1.1\r\n${HOST}\r\n`)
  t.same(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 400'])
  t.equal(upstream.bytes, '')
})

t.test('a rejected client that expects 100 Continue gets no 100 response', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  const answer = await raw(
    `POST /api/challenged HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n`,
  )
  t.match(answer, /^HTTP\/1\.1 401 .*\r\nconnection: close\r\n/is)
  t.notMatch(answer, /100 Continue/)
  t.equal(upstream.bytes, '')
})

t.test(
  'a client that expects 100 Continue gets the 100 response when the gateway forwards its request',
  async (t) => {
    const { raw, upstream } = await startGatewayUnderTest(t)
    const answer = await raw(
      `POST /pub/x HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 5\r\n${END}hello`,
    )
    t.same(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 100', 'HTTP/1.1 200'])
    t.equal(upstream.requests[0]?.body, 'hello')
    t.same(upstream.seen('expect'), [])
  },
)
