import t from 'tap'
import { formatRequestHead, type RequestHead } from '../../../../gateway/upstreams/http1/request-head.ts'

function aHead(given: Partial<RequestHead> = {}): RequestHead {
  return {
    method: 'GET',
    path: '/a',
    host: 'api.test',
    headers: [],
    hasBody: false,
    upgrade: false,
    ...given,
  }
}

const UNFORWARDABLE: Readonly<Record<string, Partial<RequestHead>>> = {
  'a method with a space': { method: 'GET /x' },
  'an empty method': { method: '' },
  'a path with a space': { path: '/a b' },
  'a path with a line break': { path: '/a\r\nx: y' },
  'a path beyond ASCII': { path: '/ä' },
  'a URL as the path': { path: 'http://a/' },
  'an empty path': { path: '' },
  'a name with a line break': { headers: ['a\r\nb', 'c'] },
  'a name with a colon': { headers: ['a:', 'c'] },
  'an empty name': { headers: ['', 'c'] },
  'a value with a line break': { headers: ['a', 'b\r\nc: d'] },
  'a value with a bare LF': { headers: ['a', 'b\nc'] },
  'a value with NUL': { headers: ['a', '\0'] },
  'a value beyond Latin-1': { headers: ['a', '\u0100\u010d\u010a'] },
  'a second Host': { headers: ['Host', 'b'] },
  'a transfer coding': { headers: ['Transfer-Encoding', 'chunked'], hasBody: true },
  'a Connection': { headers: ['connection', 'x'] },
  'an Upgrade': { headers: ['Upgrade', 'h2c'] },
  'two lengths': { headers: ['Content-Length', '1', 'content-length', '1'], hasBody: true },
  'a length that is not a number': { headers: ['content-length', '0x1'], hasBody: true },
  'a length without a body': { headers: ['content-length', '1'] },
}

for (const [what, given] of Object.entries(UNFORWARDABLE))
  t.test(`formatRequestHead() rejects ${what}`, async (t) => {
    t.throws(() => formatRequestHead(aHead(given)), { code: 'ERR_UPSTREAM_UNFORWARDABLE' })
    // For the second call, the header names are in the cache, and no validation runs. The call must also throw.
    t.throws(() => formatRequestHead(aHead(given)), { code: 'ERR_UPSTREAM_UNFORWARDABLE' })
  })

t.test('formatRequestHead() writes headers unchanged, after its own headers', async (t) => {
  t.same(formatRequestHead(aHead({ path: '/a?b=c', headers: ['Accept', '*/*', 'x-a', '\xff', 'X-A', ''] })), {
    text: 'GET /a?b=c HTTP/1.1\r\nhost: api.test\r\nconnection: keep-alive\r\nAccept: */*\r\nx-a: \xff\r\nX-A: \r\n\r\n',
    contentLength: undefined,
  })
})

t.test('formatRequestHead() writes the body framing', async (t) => {
  const sized = formatRequestHead(aHead({ method: 'POST', headers: ['content-length', '7'], hasBody: true }))
  t.equal(sized.contentLength, 7)
  t.equal(sized.text.match(/content-length: 7\r\n/g)?.length, 1)
  t.notMatch(sized.text, /transfer-encoding/)
  const chunked = formatRequestHead(aHead({ method: 'GET', hasBody: true }))
  t.equal(chunked.contentLength, undefined)
  t.match(chunked.text, /\r\ntransfer-encoding: chunked\r\n\r\n$/)
})

t.test('formatRequestHead() announces an empty body if the method expects a body', async (t) => {
  for (const method of ['POST', 'PUT', 'PATCH'])
    t.match(formatRequestHead(aHead({ method })).text, /\r\ncontent-length: 0\r\n\r\n$/)
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS'])
    t.notMatch(formatRequestHead(aHead({ method })).text, /content-length|transfer-encoding/)
})

t.test('formatRequestHead() writes a WebSocket handshake', async (t) => {
  t.match(
    formatRequestHead(aHead({ upgrade: true })).text,
    /\r\nconnection: upgrade\r\nupgrade: websocket\r\n/,
  )
})

t.test('formatRequestHead() evicts names above its cache limit', async (t) => {
  for (let i = 0; i < 3_000; i++) formatRequestHead(aHead({ headers: [`x-${i}`, ''] }))
  t.match(formatRequestHead(aHead({ headers: ['x-0', 'y'] })).text, /x-0: y/)
})
