import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { readBody } from '../../../gateway/pipeline/read-body.ts'

/** Long enough for a busy machine. */
const TIMEOUT_MS = 20_000

/** Sends the chunks of a body. Overwrites each chunk as soon as the reader has received it. */
function send(chunks: readonly string[], limitBytes: number) {
  const request = new PassThrough()
  const body = readBody(request as unknown as IncomingMessage, { limitBytes, timeoutMs: TIMEOUT_MS })
  for (const text of chunks) {
    const chunk = Buffer.from(text)
    request.emit('data', chunk)
    chunk.fill('x')
  }
  request.end()
  return body
}

t.test('keeps no chunk of a body, because many small chunks take much memory', async (t) => {
  const texts = ['a', 'b', 'c', 'dddd', 'e'.repeat(50), 'f']
  const all = texts.join('')
  t.same(await send(texts, all.length), { bytes: Buffer.from(all) })
  t.equal(await send([...texts, 'g'], all.length), 'too_large')
  t.same(await send([], all.length), { bytes: Buffer.alloc(0) })
})
