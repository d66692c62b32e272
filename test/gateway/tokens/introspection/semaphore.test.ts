import t from 'tap'
import { createSemaphore } from '../../../../gateway/tokens/introspection/semaphore.ts'

const NEVER = new AbortController().signal

t.test('take() rejects a caller when the queue is full', async (t) => {
  const turns = createSemaphore({ atOnce: 1, waiting: 1 })
  await turns.take(NEVER)
  t.ok(turns.take(NEVER) instanceof Promise)
  t.equal(turns.take(NEVER), undefined)
  t.match(turns, { working: 1, waiting: 1 })
})

t.test('take() grants permits in the order of the calls', async (t) => {
  const turns = createSemaphore({ atOnce: 2, waiting: 10 })
  const begun: number[] = []
  const all = [0, 1, 2, 3, 4].map((index) => turns.take(NEVER)?.then(() => begun.push(index)))
  await Promise.all(all.slice(0, 2))
  t.same(begun, [0, 1])
  for (const more of [2, 3, 4]) {
    turns.end()
    await all[more]
    t.equal(begun.at(-1), more)
    t.equal(turns.working, 2, 'one ends, one starts')
  }
  turns.end()
  turns.end()
  t.match(turns, { working: 0, waiting: 0 })
})

t.test('take() removes a caller from the queue at its deadline', async (t) => {
  const turns = createSemaphore({ atOnce: 1, waiting: 1 })
  await turns.take(NEVER)
  const deadline = new AbortController()
  const late = turns.take(deadline.signal)
  deadline.abort(new Error('too late'))
  await t.rejects(Promise.resolve(late), { message: 'too late' })
  const next = turns.take(NEVER)
  turns.end()
  await next
  t.match(turns, { working: 1, waiting: 0 })
})
