import t, { type Test } from 'tap'
import { createIssuerKeys, type IssuerKeysOptions } from '../../../../gateway/tokens/jwt/issuer-keys.ts'
import { IssuerKeysError } from '../../../../gateway/tokens/jwt/issuer-keys-error.ts'
import type { CachedJwks } from '../../../../gateway/tokens/jwt/jwks-file-cache.ts'
import { type KeySet, readJwks } from '../../../../gateway/tokens/jwt/read-jwks.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { aClock } from '../../../fixtures/a-clock.ts'
import { aKey } from '../../../fixtures/jwk.ts'

const ALGORITHMS = new Set(['ES256'])
const HOUR = 3_600_000
const AWAY = new IssuerKeysError('ERR_ISSUER_KEYS_CONNECTION', 'The connection failed.')
/** The tests publish these few keys with many key IDs, because key generation is slow. */
const POOL = Array.from({ length: 4 }, (_, index) => aKey('ES256', String(index)).jwk)

function setUp(t: Test, change: Partial<IssuerKeysOptions> = {}) {
  const clock = aClock()
  const fetchedAt: number[] = []
  const counted: string[] = []
  let log = ''
  let answer: () => Promise<unknown> = async () => ({ keys: [{ ...POOL[0], kid: 'a' }] })
  const keys = createIssuerKeys({
    issuer: 'https://issuer.test',
    algorithms: ALGORITHMS,
    async load() {
      fetchedAt.push(clock.tickMs())
      return readJwks(await answer(), ALGORITHMS) as KeySet
    },
    copy: undefined,
    refreshMs: 300_000,
    cooldownMs: 30_000,
    maxStaleMs: 12 * HOUR,
    clock,
    random: () => 0.5,
    meter: {
      refreshed: (result) => counted.push(result),
      dropped: (reason) => counted.push(reason),
    },
    logger: createLogger({ level: 'info', service: 'test' }, { write: (line) => (log += line) }),
    ...change,
  })
  t.teardown(() => keys.close())
  return {
    keys,
    clock,
    fetchedAt,
    counted,
    log: () => log,
    events: (name: string) => log.split('\n').filter((line) => line.includes(`"${name}"`)).length,
    answerWith: (how: () => Promise<unknown>) => (answer = how),
    publish: (...kids: readonly string[]) =>
      (answer = async () => ({ keys: kids.map((kid, index) => ({ ...POOL[index % 4], kid })) })),
    goAway: () => (answer = () => Promise.reject(AWAY)),
  }
}

const mostInOneSecond = (ticks: readonly number[]) =>
  Math.max(...ticks.map((start) => ticks.filter((tick) => tick >= start && tick < start + 1_000).length))

t.test('a known key is returned immediately, without a fetch', async (t) => {
  const { keys, fetchedAt } = setUp(t)
  t.equal(keys.ready, false)
  await keys.start()
  t.equal(keys.ready, true)
  const found = new Set(Array.from({ length: 1_000 }, () => keys.lookUp('a', 'ES256')))
  t.match([...found], [{ kid: 'a' }])
  t.equal(keys.lookUp('a', 'ES384'), undefined, 'a known key ID with another algorithm')
  t.equal(fetchedAt.length, 1)
})

t.test(
  '100 concurrent unknown kids cause one fetch, and 10,000 within the cool-down cause no fetch',
  async (t) => {
    const { keys, clock, fetchedAt } = setUp(t)
    await keys.start()
    await clock.advance(10_000)
    const answers = Promise.all(Array.from({ length: 100 }, (_, index) => keys.lookUp(`x${index}`, 'ES256')))
    await clock.advance(1_000)
    t.same(new Set(await answers), new Set([undefined]))
    t.equal(fetchedAt.length, 2)
    const found = new Set<unknown>()
    for (let second = 0; second < 28; second += 1) {
      for (let index = 0; index < 400; index += 1)
        found.add(await keys.lookUp(`y${second}-${index}`, 'ES256'))
      await clock.advance(1_000)
    }
    t.same(found, new Set([undefined]))
    t.equal(fetchedAt.length, 2)
    await clock.advance(2_000)
    const later = keys.lookUp('z', 'ES256')
    await clock.advance(1_000)
    t.equal(await later, undefined)
    t.equal(fetchedAt.length, 3, 'one for the next cool-down')
  },
)

t.test('a new key is accepted on first use, with any number of concurrent requests', async (t) => {
  const { keys, clock, fetchedAt, publish } = setUp(t)
  await keys.start()
  await clock.advance(60_000)
  publish('a', 'b')
  const answers = Promise.all(Array.from({ length: 500 }, () => keys.lookUp('b', 'ES256')))
  await clock.advance(0)
  for (const key of await answers) t.equal(key?.kid, 'b')
  t.equal(fetchedAt.length, 2)
})

t.test(
  'a new key is accepted for all requests that waited for an earlier fetch without this key',
  async (t) => {
    const { keys, clock, fetchedAt, answerWith, publish } = setUp(t)
    await keys.start()
    const answered = Promise.withResolvers<unknown>()
    answerWith(() => answered.promise)
    await clock.advance(300_000)
    t.equal(fetchedAt.length, 2, 'a fetch in the background')
    const answers = Promise.all(Array.from({ length: 50 }, () => keys.lookUp('b', 'ES256')))
    answered.resolve({ keys: [{ ...POOL[0], kid: 'a' }] })
    publish('a', 'b')
    await clock.advance(1_500)
    for (const key of await answers) t.equal(key?.kid, 'b')
    t.equal(fetchedAt.length, 3)
  },
)

t.test(
  'keys that rotate every 10 s under load cause no failure, and one fetch per second at most',
  async (t) => {
    const { keys, clock, fetchedAt, publish } = setUp(t)
    publish('k0')
    await keys.start()
    for (let turn = 1; turn <= 60; turn += 1) {
      await clock.advance(10_000)
      publish(`k${turn - 1}`, `k${turn}`)
      const asked = [`k${turn}`, `k${turn - 1}`, `k${turn}`].map((kid) => keys.lookUp(kid, 'ES256'))
      await clock.advance(1_000)
      for (const key of await Promise.all(asked)) t.ok(key)
    }
    t.ok(fetchedAt.length <= 64, `${fetchedAt.length} fetches`)
    t.equal(mostInOneSecond(fetchedAt), 1)
  },
)

t.test('a key that the issuer no longer publishes is rejected after the next refresh', async (t) => {
  const { keys, clock, publish } = setUp(t)
  await keys.start()
  publish('b')
  t.match(keys.lookUp('a', 'ES256'), { kid: 'a' })
  await clock.advance(300_000)
  const gone = keys.lookUp('a', 'ES256')
  await clock.advance(1_000)
  t.equal(await gone, undefined)
  t.match(keys.lookUp('b', 'ES256'), { kid: 'b' })
})

t.test(
  'an issuer outage of one hour fails no valid token and causes one fetch per second at most',
  async (t) => {
    const { keys, clock, fetchedAt, events, goAway, publish } = setUp(t)
    await keys.start()
    goAway()
    for (let second = 0; second < 3_600; second += 1) {
      const key = keys.lookUp('a', 'ES256')
      if (key === undefined || key instanceof Promise) t.fail(`the key was gone in second ${second}`)
      // The lookup of an unknown key ID must cause no further fetches.
      void Promise.resolve(keys.lookUp(`junk-${second}`, 'ES256')).catch(() => undefined)
      await clock.advance(1_000)
    }
    t.equal(mostInOneSecond(fetchedAt), 1)
    t.ok(fetchedAt.length <= 3_600 / 20, `${fetchedAt.length} fetches in an hour`)
    t.ok(events('issuer_keys_not_fetched') < 30, 'the log is not flooded')
    publish('b')
    await clock.advance(31_000)
    t.match(keys.lookUp('b', 'ES256'), { kid: 'b' }, 'available again within the longest pause')
    t.equal(events('issuer_keys_back'), 1)
  },
)

t.test(
  'while the keys cannot be fetched, the lookup of an unknown kid fails with a retry time',
  async (t) => {
    const { keys, clock, fetchedAt, goAway, publish } = setUp(t)
    await keys.start()
    goAway()
    await clock.advance(5_000)
    publish('a', 'b') // the next call makes the issuer unavailable again, so the gateway cannot fetch `b` yet
    goAway()
    const first = t.rejects(async () => keys.lookUp('b', 'ES256'), {
      code: 'ERR_ISSUER_KEYS_UNCONFIRMED',
      retryAfterMs: Number,
    })
    const others = Promise.allSettled(Array.from({ length: 50 }, () => keys.lookUp('b', 'ES256')))
    await clock.advance(0)
    await first
    for (const { status } of await others)
      t.equal(status, 'rejected', 'all requests that waited for the same fetch')
    t.equal(fetchedAt.length, 2, 'one fetch for all requests')

    const error = await Promise.resolve(keys.lookUp('c', 'ES256')).then(
      () => t.fail('nobody knows'),
      (failed: unknown) => failed,
    )
    t.match(
      error,
      { code: 'ERR_ISSUER_KEYS_UNCONFIRMED' },
      'immediately, within the cool-down of the failed fetch',
    )
    t.equal(fetchedAt.length, 2)
    t.match(keys.lookUp('a', 'ES256'), { kid: 'a' }, 'known keys are used')

    publish('a', 'b')
    t.ok(error instanceof IssuerKeysError)
    await clock.advance(error instanceof IssuerKeysError ? (error.retryAfterMs ?? 0) : 0)
    t.match(keys.lookUp('b', 'ES256'), { kid: 'b' }, 'Retry-After was correct')
  },
)

t.test('invented kids are rejected while the issuer responds, also during a fetch', async (t) => {
  const { keys, clock, fetchedAt } = setUp(t)
  await keys.start()
  for (let turn = 0; turn < 2_000; turn += 1) {
    const answers = Promise.all(
      Array.from({ length: 3 }, (_, index) => keys.lookUp(`${turn}-${index}`, 'ES256')),
    )
    await clock.advance(turn % 7 === 0 ? 1_000 : 331)
    t.same(await answers, [undefined, undefined, undefined])
  }
  t.equal(mostInOneSecond(fetchedAt), 1)
})

t.test(
  'an unknown kid is logged once a minute, shortened and escaped, with the number of tokens',
  async (t) => {
    const { keys, clock, log, events, goAway } = setUp(t)
    await keys.start()
    await clock.advance(1_000)
    const kid = `\u202e\n${'x'.repeat(10_000)}`
    t.equal(await keys.lookUp(kid, 'ES256'), undefined)
    for (let index = 0; index < 10; index += 1) await keys.lookUp(`kid-${index}`, 'ES256')
    t.equal(events('issuer_key_unknown'), 1)
    t.match(log(), `"kid":"\\\\u{202e}\\\\u{a}${'x'.repeat(98)}","count":1`)
    await clock.advance(60_000)
    const later = keys.lookUp('later', 'ES256')
    await clock.advance(1_000)
    t.equal(await later, undefined)
    t.equal(events('issuer_key_unknown'), 2)
    t.match(log(), '"kid":"later","count":11')

    await clock.advance(61_000)
    goAway()
    await t.rejects(async () => keys.lookUp('unconfirmed', 'ES256'), { code: 'ERR_ISSUER_KEYS_UNCONFIRMED' })
    t.equal(keys.lookUp('a', 'ES384'), undefined)
    t.equal(
      events('issuer_key_unknown'),
      2,
      'without keys of the issuer, and for a key with another algorithm',
    )
  },
)

t.test('a kid is rejected when a fetch fails and the next fetch does not return this key', async (t) => {
  const { keys, clock, goAway, publish } = setUp(t)
  await keys.start()
  await clock.advance(5_000)
  goAway()
  await t.rejects(async () => keys.lookUp('x', 'ES256'), { code: 'ERR_ISSUER_KEYS_UNCONFIRMED' })
  publish('a')
  await clock.advance(31_000)
  const answer = keys.lookUp('x', 'ES256')
  await clock.advance(1_000)
  t.equal(await answer, undefined)
})

t.test('keys older than maxStale are unavailable', async (t) => {
  const { keys, clock, goAway, publish, events } = setUp(t)
  await keys.start()
  goAway()
  await clock.advance(12 * HOUR)
  t.match(keys.lookUp('a', 'ES256'), { kid: 'a' })
  await clock.advance(1_000)
  await t.rejects(async () => keys.lookUp('a', 'ES256'), { code: 'ERR_ISSUER_KEYS_UNAVAILABLE' })
  t.equal(events('issuer_keys_too_old'), 1)
  t.equal(keys.ready, true, 'a pod stays in service')
  publish('a')
  await clock.advance(31_000)
  t.match(keys.lookUp('a', 'ES256'), { kid: 'a' })
})

t.test(
  'without keys, validation is unavailable, and the gateway repeats the fetch until the issuer responds',
  async (t) => {
    const { keys, clock, fetchedAt, goAway, publish } = setUp(t)
    goAway()
    await keys.start()
    t.equal(keys.ready, false)
    await t.rejects(async () => keys.lookUp('a', 'ES256'), { code: 'ERR_ISSUER_KEYS_UNAVAILABLE' })
    await clock.advance(60_000)
    t.ok(fetchedAt.length >= 10 && fetchedAt.length <= 60, `${fetchedAt.length} fetches in a minute`)
    publish('a')
    await clock.advance(5_000)
    t.equal(keys.ready, true)
  },
)

t.test('keys that an issuer withdraws are rejected', async (t) => {
  const { keys, clock, publish } = setUp(t)
  await keys.start()
  publish()
  await clock.advance(300_000)
  const gone = keys.lookUp('a', 'ES256')
  await clock.advance(1_000)
  t.equal(await gone, undefined)
})

t.test('the log contains a dropped key once, and the metrics count it at each fetch', async (t) => {
  const { keys, clock, counted, events, answerWith } = setUp(t)
  answerWith(async () => ({
    keys: [
      { kty: 'oct', k: 'c2VjcmV0', kid: 'secret-1' },
      { ...POOL[0], kid: 'a' },
    ],
  }))
  await keys.start()
  await clock.advance(1_200_000)
  t.equal(events('issuer_key_dropped'), 1)
  t.ok(counted.filter((what) => what === 'symmetric').length >= 4)
})

t.test('the refresh has jitter, so two gateways do not fetch at the same time', async (t) => {
  const early = setUp(t, { random: () => 0 })
  const late = setUp(t, { random: () => 0.999 })
  for (const { keys, clock } of [early, late]) {
    await keys.start()
    await clock.advance(300_000)
  }
  t.equal(early.fetchedAt[1], 240_000)
  t.ok((late.fetchedAt[1] ?? 0) > 299_000)
})

t.test('a jump of the wall clock has no effect, because ages use a monotonic clock', async (t) => {
  const clock = aClock()
  let jumpMs = 0
  const { keys } = setUp(t, { clock: { ...clock, nowMs: () => clock.nowMs() + jumpMs } })
  await keys.start()
  for (jumpMs of [24 * HOUR, -24 * HOUR]) t.match(keys.lookUp('a', 'ES256'), { kid: 'a' })
})

t.test('a restart without the issuer uses the file cache, as long as the keys are usable', async (t) => {
  let copy: CachedJwks | undefined
  const kept = {
    read: async () => copy,
    async write(given: CachedJwks) {
      copy = given
    },
  }
  const before = setUp(t, { copy: kept })
  await before.keys.start()
  await before.clock.advance(0)
  t.match(copy, { jwks: { keys: [{ kid: 'a', kty: 'EC' }] } })

  const after = setUp(t, { copy: kept })
  after.goAway()
  await after.clock.advance(11 * HOUR)
  await after.keys.start()
  t.equal(after.keys.ready, true)
  t.match(after.keys.lookUp('a', 'ES256'), { kid: 'a' })
  t.equal(after.events('issuer_keys_from_copy'), 1)
  await after.clock.advance(HOUR + 1_000)
  await t.rejects(async () => after.keys.lookUp('a', 'ES256'), { code: 'ERR_ISSUER_KEYS_UNAVAILABLE' })

  const tooLate = setUp(t, { copy: kept })
  tooLate.goAway()
  await tooLate.clock.advance(13 * HOUR)
  await tooLate.keys.start()
  t.equal(tooLate.keys.ready, false)
})

t.test('the log reports an unwritable cache file once, and the file has no other effect', async (t) => {
  const { keys, clock, events } = setUp(t, {
    copy: { read: async () => undefined, write: () => Promise.reject(new Error('read-only')) },
  })
  await keys.start()
  await clock.advance(HOUR)
  t.equal(events('issuer_keys_copy_failed'), 1)
  t.match(keys.lookUp('a', 'ES256'), { kid: 'a' })
})

t.test('after close(), no further fetch runs', async (t) => {
  const { keys, clock, fetchedAt } = setUp(t)
  await keys.start()
  keys.close()
  await clock.advance(HOUR)
  t.equal(fetchedAt.length, 1)
})
