import t from 'tap'
import { ChunkedDecoder } from '../../../../gateway/upstreams/http1/chunked-decoder.ts'

/** The body arrives in pieces of `size` bytes. */
function decode(input: string, size = input.length): { body: string; rest: number; done: boolean } {
  const decoder = new ChunkedDecoder()
  const bytes = Buffer.from(input, 'latin1')
  let body = ''
  let at = 0
  while (at < bytes.length && !decoder.done) {
    const piece = bytes.subarray(at, at + size)
    at += decoder.decode(piece, (chunk) => {
      body += chunk.toString('latin1')
      return true
    })
  }
  return { body, rest: bytes.length - at, done: decoder.done }
}

const WHOLE =
  '4\r\nWiki\r\n6;a=b;c="d"\r\npedia \r\nE;e;f="g;\\"\xff"\r\nin \r\n\r\nchunks.\r\n00\r\nX-Checked: yes\r\nexpires: \xff\r\n\r\n'

t.test('ChunkedDecoder returns the same body for every split of the input', async (t) => {
  for (let size = 1; size <= WHOLE.length; size++)
    t.same(decode(WHOLE, size), { body: 'Wikipedia in \r\n\r\nchunks.', rest: 0, done: true }, `${size}`)
})

t.test('ChunkedDecoder stops at the end of the body, and does not consume the bytes after it', async (t) => {
  t.same(decode('1\r\na\r\n0\r\n\r\nHTTP/1.1'), { body: 'a', rest: 8, done: true })
})

t.test('ChunkedDecoder pauses on request and resumes at the same position', async (t) => {
  const decoder = new ChunkedDecoder()
  const bytes = Buffer.from('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
  const pieces: string[] = []
  const emit = (piece: Buffer) => {
    pieces.push(piece.toString())
    return false
  }
  let at = decoder.decode(bytes, emit)
  t.same(pieces, ['abc'])
  at += decoder.decode(bytes.subarray(at), emit)
  t.same(pieces, ['abc', 'de'])
  t.notOk(decoder.done)
  at += decoder.decode(bytes.subarray(at), emit)
  t.equal(at, bytes.length)
  t.ok(decoder.done)
})

const MALFORMED: Readonly<Record<string, string>> = {
  'no size': '\r\nabc\r\n',
  'a size that is not a number': 'zz\r\n',
  'a size with a sign': '+3\r\nabc\r\n',
  'a negative size': '-3\r\nabc\r\n',
  'a size with 0x': '0x3\r\nabc\r\n',
  'a size with an underscore': '1_0\r\n',
  'a space before the size': ' 3\r\nabc\r\n',
  'a space after the size': '3 \r\nabc\r\n',
  'a size above the limit': 'fffffffffffff\r\n',
  'a size of many zeros': `${'0'.repeat(13)}3\r\nabc\r\n`,
  'a bare LF after the size': '3\nabc\r\n',
  'CR without LF after the size': '3\r\rabc',
  'a bare LF in an extension': '3;a\nabc\r\n',
  'NUL in an extension': '3;\0\r\nabc\r\n',
  'an extension without a name': '3;\r\nabc\r\n',
  'an extension with only a value': '3;=a\r\nabc\r\n',
  'an extension with an empty value': '3;a=\r\nabc\r\n',
  'an extension with a space': '3; a\r\nabc\r\n',
  'an extension with a list': '3;a=b,c\r\nabc\r\n',
  'an extension with an open quote': '3;a="b\r\nabc\r\n',
  'an extension with a token after a quote': '3;a="b"c\r\nabc\r\n',
  'an endless extension': `3;${'a'.repeat(300)}`,
  'more data than the size': '3\r\nabcd\r\n',
  'a bare LF after the data': '3\r\nabc\n',
  'no line break after the data': '3\r\nabc0\r\n\r\n',
  'a trailer without a colon': '0\r\nabc\r\n\r\n',
  'a trailer with a space in its name': '0\r\na b: c\r\n\r\n',
  'a folded trailer': '0\r\na: b\r\n c\r\n\r\n',
  'a bare LF in a trailer': '0\r\na: b\nc: d\r\n\r\n',
  'NUL in a trailer': '0\r\na: \0\r\n\r\n',
  'endless trailers': `0\r\n${'a: b\r\n'.repeat(2_000)}`,
  'a length in its trailers': '0\r\nContent-Length: 5\r\n\r\n',
  'a transfer coding in its trailers': '0\r\ntransfer-encoding: chunked\r\n\r\n',
  'connection options in its trailers': '0\r\nConnection: close\r\n\r\n',
  'a bare LF at the end': '0\r\n\n',
}

for (const [what, input] of Object.entries(MALFORMED))
  t.test(`ChunkedDecoder rejects ${what}`, async (t) => {
    t.throws(() => decode(input), { code: 'ERR_UPSTREAM_PROTOCOL' })
    t.throws(() => decode(input, 1), { code: 'ERR_UPSTREAM_PROTOCOL' })
  })
