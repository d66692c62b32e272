import t from 'tap'
import { LimitedBuffer } from '../../../platform/net/limited-buffer.ts'
import { readLimitedBytes } from '../../../platform/net/read-limited.ts'

const TEXTS = ['a', 'b', '', 'dddd', 'e'.repeat(50), 'f']
const ALL = TEXTS.join('')

/** Overwrites each chunk as soon as the reader asks for the next chunk. */
async function* chunksOf(texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) {
    const chunk = Buffer.from(text)
    yield chunk
    chunk.fill('x')
  }
}

t.test('a limited buffer keeps the bytes up to its limit, and no chunk', async (t) => {
  const buffer = new LimitedBuffer(ALL.length)
  for await (const chunk of chunksOf(TEXTS)) t.equal(buffer.add(chunk), true)
  t.equal(buffer.content.toString(), ALL)
  t.equal(buffer.add(Buffer.from('g')), false)
  t.equal(buffer.content.toString(), ALL)
  t.equal(new LimitedBuffer(1).content.length, 0)
})

t.test(
  'readLimitedBytes() keeps no chunk of a body, because many small chunks take much memory',
  async (t) => {
    t.equal(String(await readLimitedBytes(chunksOf(TEXTS), ALL.length)), ALL)
    t.equal(await readLimitedBytes(chunksOf([...TEXTS, 'g']), ALL.length), undefined)
  },
)
