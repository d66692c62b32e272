import t from 'tap'
import { createEventStreamReader } from '../../../../gateway/tokens/revocation/revocation-stream.ts'

t.test('the last event ID applies until the next ID, and is valid as a header value', async (t) => {
  const read = createEventStreamReader()
  t.same(read('event: ready\ndata: {}\n\nid: a.1\nevent: revoked\nda'), [
    { event: 'ready', data: '{}', id: undefined },
  ])
  t.same(read('ta: 1\n\nevent: revoked\ndata: 2\n\nid: b\u0000c\nid:\nid: é\ndata: 3\n\n'), [
    { event: 'revoked', data: '1', id: 'a.1' },
    { event: 'revoked', data: '2', id: 'a.1' },
    { event: 'message', data: '3', id: 'a.1' },
  ])
  t.same(read(`id: ${'x'.repeat(257)}\ndata: 4\n\nid:a.2\r\ndata:5\r\n\r\n: comment\n\n`), [
    { event: 'message', data: '4', id: 'a.1' },
    { event: 'message', data: '5', id: 'a.2' },
  ])
})

t.test('an unterminated line, comment or event above the limit ends the stream', async (t) => {
  for (const piece of ['data: x', ': comment', 'x', 'data: x\n', 'data:\n'.repeat(10)]) {
    const read = createEventStreamReader()
    t.throws(
      () => {
        for (let pieces = 0; pieces < 1_000_000; pieces += 1) read(piece)
      },
      { message: 'an event is too large' },
      JSON.stringify(piece.slice(0, 10)),
    )
  }
})
