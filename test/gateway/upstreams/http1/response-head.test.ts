import t from 'tap'
import { parseResponseHead } from '../../../../gateway/upstreams/http1/response-head.ts'

/** Parses the lines of a response head. Adds the final empty line. */
function parse(lines: string) {
  return parseResponseHead(`${lines}\r\n`, lines.length)
}

const MALFORMED: Readonly<Record<string, string>> = {
  'another protocol': '220 mail.example ESMTP\r\n',
  'HTTP/0.9': 'HTTP/0.9 200 OK\r\n',
  'HTTP/2': 'HTTP/2.0 200 OK\r\n',
  'HTTP in lowercase': 'http/1.1 200 OK\r\n',
  'two spaces before the status': 'HTTP/1.1  200 OK\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\n',
  'a status of four digits': 'HTTP/1.1 2000 OK\r\n',
  'a status below 100': 'HTTP/1.1 099 OK\r\n',
  'a status with a sign': 'HTTP/1.1 +20 OK\r\n',
  'NUL in the reason': 'HTTP/1.1 200 O\0K\r\n',
  'a bare LF after the status line': 'HTTP/1.1 200 OK\nx: y\r\n',
  'a bare CR in the status line': 'HTTP/1.1 200 OK\rx: y\r\n',
  'a bare LF after a header': 'HTTP/1.1 200 OK\r\na: b\nc: d\r\n',
  'a bare CR in a value': 'HTTP/1.1 200 OK\r\na: b\rc: d\r\n',
  'NUL in a value': 'HTTP/1.1 200 OK\r\na: b\0c\r\n',
  'a control character in a value': 'HTTP/1.1 200 OK\r\na: b\x1bc\r\n',
  'DEL in a value': 'HTTP/1.1 200 OK\r\na: b\x7fc\r\n',
  'a folded header': 'HTTP/1.1 200 OK\r\na: b\r\n c\r\n',
  'a folded header right after the status line': 'HTTP/1.1 200 OK\r\n a: b\r\n',
  'a space before the colon': 'HTTP/1.1 200 OK\r\na : b\r\n',
  'a tab before the colon': 'HTTP/1.1 200 OK\r\na\t: b\r\n',
  'no name': 'HTTP/1.1 200 OK\r\n: b\r\n',
  'no colon': 'HTTP/1.1 200 OK\r\nabc\r\n',
  'a name with a bracket': 'HTTP/1.1 200 OK\r\na(b: c\r\n',
  'a name with a letter beyond ASCII': 'HTTP/1.1 200 OK\r\n\xe4: c\r\n',
  'too many headers': `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(513)}`,
  'two equal lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nContent-Length: 2\r\n',
  'a list of lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n',
  'a length with a sign': 'HTTP/1.1 200 OK\r\ncontent-length: +2\r\n',
  'a negative length': 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n',
  'a hexadecimal length': 'HTTP/1.1 200 OK\r\ncontent-length: 0x10\r\n',
  'a length with an underscore': 'HTTP/1.1 200 OK\r\ncontent-length: 1_0\r\n',
  'an empty length': 'HTTP/1.1 200 OK\r\ncontent-length:\r\n',
  'a length above the safe integer range': 'HTTP/1.1 200 OK\r\ncontent-length: 9007199254740993\r\n',
  'a length and chunks': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n',
  'chunks and a length': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ncontent-length: 2\r\n',
  'chunks twice': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n',
  'another coding': 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n',
  'a coding with a name similar to chunked': 'HTTP/1.1 200 OK\r\ntransfer-encoding: xchunked\r\n',
  'an empty coding': 'HTTP/1.1 200 OK\r\ntransfer-encoding:\r\n',
  'an interim response with a length': 'HTTP/1.1 103 Early Hints\r\ncontent-length: 1\r\n',
  'an interim response in chunks': 'HTTP/1.1 100 Continue\r\ntransfer-encoding: chunked\r\n',
  'a tab after the coding': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\t\r\n',
  'an interim response that ends its connection': 'HTTP/1.1 103 Early Hints\r\nconnection: close\r\n',
  'an interim response in HTTP/1.0': 'HTTP/1.0 100 Continue\r\n',
  'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n',
}

for (const [what, lines] of Object.entries(MALFORMED))
  t.test(`parseResponseHead() rejects ${what}`, async (t) => {
    t.throws(() => parse(lines), { code: 'ERR_UPSTREAM_PROTOCOL' })
  })

t.test('parseResponseHead() reads status, headers and framing', async (t) => {
  const head = parse('HTTP/1.1 201 Created\r\nContent-Length: 12 \r\nX-A:\t b c \t\r\nx-empty:\r\n')
  t.equal(head.status, 201)
  t.same({ ...head.headers }, { 'content-length': '12', 'x-a': 'b c', 'x-empty': '' })
  t.equal(head.contentLength, 12)
  t.equal(head.chunked, false)
  t.equal(head.keepsAlive, true)
})

t.test('parseResponseHead() accepts a space after the transfer coding', async (t) => {
  t.equal(parse('HTTP/1.1 200 OK\r\nTransfer-Encoding:\t chunked \r\n').chunked, true)
})

t.test('parseResponseHead() accepts a status line without a reason', async (t) => {
  t.equal(parse('HTTP/1.1 200\r\n').status, 200)
  t.equal(parse('HTTP/1.1 200 \r\n').status, 200)
})

t.test(
  'parseResponseHead() keeps repeated headers separate, and accepts names of Object.prototype',
  async (t) => {
    const { headers } = parse(
      'HTTP/1.1 200 OK\r\nset-cookie: a\r\n__proto__: x\r\nSet-Cookie: b\r\nset-cookie: c\r\n',
    )
    t.same(headers['set-cookie'], ['a', 'b', 'c'])
    t.same(Object.keys(headers), ['set-cookie', '__proto__'])
    t.equal(Object.getPrototypeOf(headers), null)
  },
)

t.test('parseResponseHead() keeps bytes beyond ASCII unchanged', async (t) => {
  t.equal(parse('HTTP/1.1 200 OK\r\nx: \xff\xe4\r\n').headers['x'], '\xff\xe4')
})

const PERSISTENCE: readonly (readonly [lines: string, keepsAlive: boolean])[] = [
  ['HTTP/1.1 200 OK\r\n', true],
  ['HTTP/1.1 200 OK\r\nconnection: close\r\n', false],
  ['HTTP/1.1 200 OK\r\nConnection: x-a, Close\r\n', false],
  ['HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nconnection: close\r\n', false],
  ['HTTP/1.1 200 OK\r\nproxy-connection: close\r\n', false],
  ['HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade, close\r\n', false],
  ['HTTP/1.0 200 OK\r\nconnection: keep-alive\xa0\r\n', false],
  ['HTTP/1.0 200 OK\r\nconnection: x \t,\tKeep-Alive\r\n', true],
  ['HTTP/1.0 200 OK\r\n', false],
  ['HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\n', true],
]
for (const [lines, keepsAlive] of PERSISTENCE)
  t.test(`parseResponseHead() returns keepsAlive ${keepsAlive} for ${JSON.stringify(lines)}`, async (t) => {
    t.equal(parse(lines).keepsAlive, keepsAlive)
  })

t.test('parseResponseHead() reads the keep-alive timeout of a connection', async (t) => {
  t.equal(parse('HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=10\r\n').keepAliveMs, 5_000)
  t.equal(parse('HTTP/1.1 200 OK\r\nkeep-alive: max=10, timeout=2\r\n').keepAliveMs, 2_000)
  t.equal(parse('HTTP/1.1 200 OK\r\nkeep-alive: untimeout=5\r\n').keepAliveMs, undefined)
  t.equal(parse('HTTP/1.1 200 OK\r\n').keepAliveMs, undefined)
})
