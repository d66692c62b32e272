import t from 'tap'
import { createBreaker } from '../../../platform/redis/redis-breaker.ts'

function setUp() {
  const probes: PromiseWithResolvers<unknown>[] = []
  const changes: boolean[] = []
  const breaker = createBreaker({
    probe() {
      const probe = Promise.withResolvers<unknown>()
      probes.push(probe)
      return probe.promise
    },
    onChange: (isClosed) => changes.push(isClosed),
  })
  const fail = (times: number, nowMs = 0): void => {
    for (let time = 0; time < times; time += 1) breaker.failed(nowMs)
  }
  return { breaker, probes, changes, fail, settle: () => new Promise((resolve) => setImmediate(resolve)) }
}

t.test('the circuit opens after five consecutive failures, and not before', async (t) => {
  const { breaker, changes, fail, probes } = setUp()
  fail(4)
  breaker.succeeded()
  fail(4)
  t.equal(breaker.isClosed(0), true)
  t.same(changes, [])
  fail(1)
  const asked = Array.from({ length: 100 }, (_, turn) => breaker.isClosed(turn * 10))
  t.same(new Set(asked), new Set([false]))
  fail(10)
  t.same(changes, [false], 'logged once')
  t.equal(probes.length, 0)
})

t.test('an open circuit probes once per second, without delay for any request', async (t) => {
  const { breaker, changes, fail, probes, settle } = setUp()
  fail(5)
  const asked = new Set<boolean>()
  for (let nowMs = 0; nowMs < 10_000; nowMs += 10) {
    asked.add(breaker.isClosed(nowMs))
    probes.at(-1)?.reject(new Error('still away'))
    await settle()
  }
  t.same(asked, new Set([false]))
  t.equal(probes.length, 9)
  t.equal(breaker.isClosed(10_000), false)
  probes.at(-1)?.resolve('PONG')
  await settle()
  t.equal(breaker.isClosed(10_000), true)
  t.same(changes, [false, true])
})
