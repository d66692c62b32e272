import t from 'tap'
import { createSemaphore } from '../../../../gateway/tokens/introspection/semaphore.ts'

const NEVER = new AbortController().signal

t.test('take() rejects a caller when the queue is full', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 1, maxQueue: 1 })
  await semaphore.acquire(NEVER)
  t.ok(semaphore.acquire(NEVER) instanceof Promise)
  t.equal(semaphore.acquire(NEVER), undefined)
  t.match(semaphore, { working: 1, waiting: 1 })
})

t.test('take() grants permits in the order of the calls', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 2, maxQueue: 10 })
  const begun: number[] = []
  const all = [0, 1, 2, 3, 4].map((index) => semaphore.acquire(NEVER)?.then(() => begun.push(index)))
  await Promise.all(all.slice(0, 2))
  t.same(begun, [0, 1])
  for (const more of [2, 3, 4]) {
    semaphore.release()
    await all[more]
    t.equal(begun.at(-1), more)
    t.equal(semaphore.working, 2, 'one ends, one starts')
  }
  semaphore.release()
  semaphore.release()
  t.match(semaphore, { working: 0, waiting: 0 })
})

t.test('take() removes a caller from the queue at its deadline', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 1, maxQueue: 1 })
  await semaphore.acquire(NEVER)
  const deadline = new AbortController()
  const late = semaphore.acquire(deadline.signal)
  deadline.abort(new Error('too late'))
  await t.rejects(Promise.resolve(late), { message: 'too late' })
  const next = semaphore.acquire(NEVER)
  semaphore.release()
  await next
  t.match(semaphore, { working: 1, waiting: 0 })
})
