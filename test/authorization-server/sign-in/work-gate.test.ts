import t from 'tap'
import { createWorkGate } from '../../../authorization-server/sign-in/work-gate.ts'

t.test(
  'run() rejects work above the queue limit, runs the rest in order, and continues after a failure',
  async (t) => {
    const gate = createWorkGate({ atOnce: 1, waiting: 2 })
    const first = Promise.withResolvers<string>()
    const order: string[] = []
    const results = [
      gate.run(() => first.promise),
      gate.run(async () => {
        order.push('second')
        throw new Error('second failed')
      }),
      gate.run(async () => order.push('third')),
    ]
    const settled = Promise.allSettled(results)
    t.equal(await gate.run(async () => 'fourth'), 'busy')
    first.resolve('first')
    t.strictSame(
      (await settled).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.strictSame(order, ['second', 'third'])
    t.equal(await gate.run(async () => 'after'), 'after')
  },
)
