import t from 'tap'
import { createSemaphore } from '../../platform/semaphore.ts'

t.test('run() rejects a task when the queue is full', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 1, maxQueue: 1 })
  const first = Promise.withResolvers<string>()
  const results = [semaphore.run(() => first.promise), semaphore.run(async () => 'second')]
  t.equal(
    semaphore.run(async () => t.fail('the work must not run')),
    undefined,
  )
  t.match(semaphore, { working: 1, waiting: 1 })
  first.resolve('first')
  t.strictSame(await Promise.all(results), ['first', 'second'])
  t.match(semaphore, { working: 0, waiting: 0 })
})

t.test('run() starts waiting tasks in the order of the calls, one task for each free slot', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 2, maxQueue: 10 })
  const begun: number[] = []
  const ends = [0, 1, 2, 3, 4].map(() => Promise.withResolvers<void>())
  const results = ends.map(({ promise }, index) =>
    semaphore.run(() => {
      begun.push(index)
      return promise
    }),
  )
  for (const [index, { resolve }] of ends.entries()) {
    t.strictSame(begun, [0, 1, 2, 3, 4].slice(0, index + 2))
    t.equal(semaphore.working, Math.min(2, ends.length - index))
    resolve()
    await results[index]
  }
  t.match(semaphore, { working: 0, waiting: 0 })
})

t.test('run() frees the slot of a task that fails', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 1, maxQueue: 1 })
  const failing = semaphore.run(() => Promise.reject(new Error('failed')))
  const next = semaphore.run(async () => 'next')
  await t.rejects(Promise.resolve(failing), { message: 'failed' })
  t.equal(await next, 'next')
  t.equal(semaphore.working, 0)
})

t.test('run() removes a task from the queue when its signal aborts', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 1, maxQueue: 1 })
  const first = Promise.withResolvers<void>()
  const running = semaphore.run(() => first.promise)
  const deadline = new AbortController()
  const late = semaphore.run(async () => t.fail('the work must not run'), deadline.signal)
  deadline.abort(new Error('too late'))
  await t.rejects(Promise.resolve(late), { message: 'too late' })
  const next = semaphore.run(async () => 'next')
  first.resolve()
  await running
  t.equal(await next, 'next')
  t.match(semaphore, { working: 0, waiting: 0 })
})
