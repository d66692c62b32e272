import t from 'tap'
import { createSemaphore } from '../../../authorization-server/sign-in/semaphore.ts'

t.test(
  'run() rejects work above the queue limit, runs the rest in order, and continues after a failure',
  async (t) => {
    const semaphore = createSemaphore({ maxConcurrent: 1, maxQueue: 2 })
    const first = Promise.withResolvers<string>()
    const order: string[] = []
    const results = [
      semaphore.run(() => first.promise),
      semaphore.run(async () => {
        order.push('second')
        throw new Error('second failed')
      }),
      semaphore.run(async () => order.push('third')),
    ]
    const settled = Promise.allSettled(results)
    t.equal(await semaphore.run(async () => 'fourth'), 'busy')
    first.resolve('first')
    t.strictSame(
      (await settled).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.strictSame(order, ['second', 'third'])
    t.equal(await semaphore.run(async () => 'after'), 'after')
  },
)

t.test('run() runs as many works at once as the limit, also after a burst', async (t) => {
  const semaphore = createSemaphore({ maxConcurrent: 2, maxQueue: 1 })
  for (let round = 0; round < 2; round++) {
    const held = Promise.withResolvers<void>()
    let running = 0
    const work = async () => {
      running += 1
      await held.promise
      return running
    }
    const works = [semaphore.run(work), semaphore.run(work), semaphore.run(work)]
    t.equal(await semaphore.run(work), 'busy')
    t.equal(running, 2)
    held.resolve()
    t.strictSame(await Promise.all(works), [2, 2, 3])
  }
})
