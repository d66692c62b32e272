import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSharedThrottle } from '../../../authorization-server/sign-in/shared-throttle.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { type AttemptCounters, StoreError } from '../../../authorization-server/store/store.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const LIMITS = { failuresPerAccount: 3, failuresPerAddress: 5, windowMs: 60_000 }

/**
 * Returns two throttles on one store. `calls` counts the calls of the store. If `fails` is true, the store is
 * unavailable.
 */
function open(t: Test) {
  const state = { now: 1_000, calls: 0, fails: false }
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => state.now,
  })
  t.teardown(() => store.close())
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    state.calls += 1
    if (state.fails) throw new StoreError('ERR_STORE_UNAVAILABLE', 'unavailable', { reason: 'away' })
    return work()
  }
  const counters: AttemptCounters = {
    check: (asked) => guarded(() => store.attempts.check(asked)),
    add: (asked, seconds) => guarded(() => store.attempts.add(asked, seconds)),
    release: (ids) => guarded(() => store.attempts.release(ids)),
  }
  const create = (purpose: string) =>
    createSharedThrottle({ purpose, limits: LIMITS, counters, nowMs: () => state.now * 1_000 })
  return { state, create, one: create('sign-in'), two: create('sign-in') }
}

t.test('attempt() counts the attempts at all servers, and reports the first rejection once', async (t) => {
  const { one, two } = open(t)
  for (const throttle of [one, two, one]) t.equal(await throttle.attempt('alice', '10.0.0.1'), undefined)
  t.strictSame(await two.attempt('Alice ', '10.0.0.1'), { retryAfterSeconds: 60, isFirst: true })
  t.strictSame(await one.check('alice', '10.0.0.1'), { retryAfterSeconds: 60, isFirst: false })
  t.equal(await one.attempt('alice', '10.0.0.2'), undefined, 'another address')
  for (const name of ['bob', 'carol']) t.equal(await one.attempt(name, '10.0.0.1'), undefined)
  t.match(await two.attempt('dave', '10.0.0.1'), { isFirst: true }, 'the address')
})

t.test('attempt() does not count the attempts of another purpose', async (t) => {
  const { one, create } = open(t)
  for (let i = 0; i < 3; i++) await one.attempt('alice', '10.0.0.1')
  t.equal(await create('password link').attempt('alice', '10.0.0.1'), undefined)
})

t.test('a rejected account reads nothing from the store until the window ends', async (t) => {
  const { one, state } = open(t)
  for (let i = 0; i < 4; i++) await one.attempt('alice', '10.0.0.1')
  const { calls } = state
  state.now += 59
  for (const ask of [one.check, one.attempt])
    t.strictSame(await ask('alice', '10.0.0.1'), { retryAfterSeconds: 1, isFirst: false })
  t.equal(state.calls, calls)
  state.now += 1
  t.equal(await one.attempt('alice', '10.0.0.1'), undefined)
})

t.test('succeeded() removes the failures of the account at all servers', async (t) => {
  const { one, two } = open(t)
  for (let round = 0; round < 4; round++) {
    for (const throttle of [one, two]) t.equal(await throttle.attempt('alice', '10.0.0.1'), undefined)
    await two.succeeded('alice', '10.0.0.1')
    await one.succeeded('bob', '10.0.0.1')
  }
})

t.test('without the store, the count of this server applies', async (t) => {
  const { one, two, state } = open(t)
  for (let i = 0; i < 2; i++) await one.attempt('alice', '10.0.0.1')
  state.fails = true
  t.equal(await one.attempt('alice', '10.0.0.1'), undefined)
  t.match(await one.attempt('alice', '10.0.0.1'), { retryAfterSeconds: 60 })
  t.match(await one.check('alice', '10.0.0.1'), { retryAfterSeconds: 60 })
  t.equal(await two.attempt('alice', '10.0.0.1'), undefined, 'the other server has counted nothing')
  await two.succeeded('alice', '10.0.0.1')
})
