import t from 'tap'
import { ResponseReader } from '../../../bench/soak/response-reader.ts'

const OK = 'HTTP/1.1 200 OK\r\n'

t.test(
  'ResponseReader reads responses one by one, by length and by chunks, and skips interim responses',
  (t) => {
    const reader = new ResponseReader()
    const text = `HTTP/1.1 100 Continue\r\n\r\n${OK}X-A: 1\r\nContent-Length: 3\r\n\r\nabc${OK}transfer-encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\nrest`
    for (const byte of text) reader.push(byte)
    const first = reader.take('GET')
    t.match(first, { status: 200, body: 'abc', state: 'whole' })
    t.equal(first?.headers.get('x-a'), '1')
    t.match(reader.take('GET'), { status: 200, body: 'def', state: 'whole' })
    t.equal(reader.take('GET'), undefined)
    t.equal(reader.rest, 'rest')
    t.end()
  },
)

t.test('ResponseReader returns no incomplete response', (t) => {
  for (const [text, body, state] of [
    [`${OK}content-length: 3\r\n\r\nab`, 'ab', 'part'],
    [`${OK}transfer-encoding: chunked\r\n\r\n`, '', 'part'],
    [`${OK}transfer-encoding: chunked\r\n\r\n3\r\nab`, 'ab', 'part'],
    [`${OK}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n`, 'ab', 'part'],
    [`${OK}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r`, 'ab', 'part'],
    [`${OK}transfer-encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n`, 'ab', 'part'],
    [`${OK}\r\nab`, 'ab', 'until_close'],
  ] as const) {
    const reader = new ResponseReader()
    reader.push(text)
    t.equal(reader.take('GET'), undefined, text)
    t.match(reader.peek('GET'), { body, state }, text)
  }
  const reader = new ResponseReader()
  reader.push(OK)
  t.equal(reader.peek('GET'), undefined)
  t.end()
})

t.test('ResponseReader recognizes responses without a body', (t) => {
  const reader = new ResponseReader()
  reader.push(`${OK}content-length: 3\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n`)
  t.match(reader.take('HEAD'), { status: 200, body: '', state: 'whole' })
  t.match(reader.take('DELETE'), { status: 204, body: '', state: 'whole' })
  t.equal(reader.rest, '')
  t.end()
})
