import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { PUBLISH, relayRevocation } from '../../../platform/redis/publish-revocation.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM } from '../../../platform/redis/revocation-keys.ts'
import { aRevocation } from '../../fixtures/a-revocation.ts'
import { startRedis } from '../../fixtures/start-redis.ts'

const HOUR_MS = 3_600_000
const DAY_SECONDS = 86_400
/**
 * Number of entries of each age. Redis trims a stream in whole nodes of 100 entries, so at most 100 expired entries
 * remain.
 */
const ENTRIES = 250

t.test('publishing trims a stream entry when all its tokens have expired', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  const [seconds] = await redis.time()
  const nowMs = Number(seconds) * 1_000
  const write = async (ageMs: number): Promise<void> => {
    const pipeline = redis.pipeline()
    for (let index = 0; index < ENTRIES; index++)
      pipeline.xadd(REVOCATION_STREAM, `${nowMs - ageMs}-${index}`, REVOCATION_FIELD, '{}')
    await pipeline.exec()
  }
  const ofAge = async (ageMs: number): Promise<number> =>
    (await redis.xrange(REVOCATION_STREAM, nowMs - ageMs, nowMs - ageMs)).length
  let published = 0
  const publish = (expiresInSeconds: number): Promise<void> =>
    relayRevocation(
      redis,
      {
        ...aRevocation({ token: `token ${published++}`, expiresAtSeconds: nowMs / 1_000 + expiresInSeconds }),
        issuer: 'https://issuer.test',
      },
      nowMs / 1_000,
    )
  await write(49 * HOUR_MS)
  await write(25 * HOUR_MS)
  await write(23 * HOUR_MS)

  await publish(2 * DAY_SECONDS)
  t.ok((await ofAge(49 * HOUR_MS)) <= 100, 'older than the longest token')
  t.equal(await ofAge(25 * HOUR_MS), ENTRIES, 'a revocation keeps entries as long as its tokens are valid')
  await publish(60)
  t.ok((await ofAge(25 * HOUR_MS)) <= 100, 'older than a day')
  t.equal(await ofAge(23 * HOUR_MS), ENTRIES, 'younger than a day')
  t.equal((await redis.xrange(REVOCATION_STREAM, nowMs, '+')).length, 2, 'the revocations themselves')
})

async function aRedis(t: Test): Promise<Redis> {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  return redis
}

const ISSUER = 'https://issuer.test'
const RELAYED = '{scopegate}:relayed:KjiX__GUyUJ1bWu5BFQw8Yuc151tkNEiuh1rxjxwwRU'

t.test('relayRevocation() writes a stream entry and two keys for each name in a revocation', async (t) => {
  const redis = await aRedis(t)
  const entries = async () => (await redis.xrange(REVOCATION_STREAM, '-', '+')).map(([, fields]) => fields)
  const nowSeconds = 1_800_000_000.5
  await relayRevocation(
    redis,
    {
      ...aRevocation({
        grant: 'g',
        token: 't',
        subject: 's',
        atSeconds: 1_799_999_990.9,
        expiresAtSeconds: 1_800_000_100,
      }),
      issuer: ISSUER,
    },
    nowSeconds,
  )
  const entry = (kind: string, name: string): string =>
    `{"iss":"${ISSUER}","${kind}":"${name}","at":1799999990,"exp":1800000100}`
  t.strictSame(await entries(), [
    ['r', entry('grant', 'g')],
    ['r', entry('token', 't')],
    ['r', entry('subject', 's')],
  ])
  for (const [kind, name] of [
    ['grant', 'g'],
    ['token', 't'],
    ['subject', 's'],
  ] as const)
    for (const key of [`{scopegate}:revoked:${kind}:${name}`, `${RELAYED}:${kind}:${name}`]) {
      t.equal(await redis.get(key), '1799999990', key)
      // The revocation expires after 99.5 s, and the code rounds this time up. The key expires 300 s later. TTL returns
      // rounded seconds, so two values are valid.
      t.ok([399, 400].includes(await redis.ttl(key)), key)
    }
})

t.test('relayRevocation() keeps a key for a day and five minutes when the expiry is unknown', async (t) => {
  const redis = await aRedis(t)
  await relayRevocation(redis, { ...aRevocation({ grant: 'g' }), issuer: ISSUER }, 1_800_000_000)
  t.equal(await redis.get('{scopegate}:revoked:grant:g'), '1800000000')
  t.ok([86_699, 86_700].includes(await redis.ttl('{scopegate}:revoked:grant:g')))
})

t.test('relayRevocation() ignores a revocation if its tokens expired five minutes ago', async (t) => {
  const redis = await aRedis(t)
  const relay = (expiresAtSeconds: number) =>
    relayRevocation(
      redis,
      { ...aRevocation({ grant: 'g', expiresAtSeconds }), issuer: ISSUER },
      1_800_000_000,
    )
  await relay(1_799_999_700)
  t.equal(await redis.xlen(REVOCATION_STREAM), 0)
  await relay(1_799_999_701)
  t.equal(await redis.xlen(REVOCATION_STREAM), 1)
})

t.test(
  'relayRevocation() writes each revocation of an issuer once, and never decreases its time or its expiry',
  async (t) => {
    const redis = await aRedis(t)
    const nowSeconds = 1_800_000_000
    const relay = (atSeconds: number, expiresAtSeconds: number, issuer = ISSUER) =>
      relayRevocation(
        redis,
        { ...aRevocation({ subject: 's', atSeconds, expiresAtSeconds }), issuer },
        nowSeconds,
      )
    const mark = '{scopegate}:revoked:subject:s'
    const state = async () => {
      const seconds = await redis.ttl(mark)
      return [await redis.xlen(REVOCATION_STREAM), await redis.get(mark), Math.ceil(seconds / 100) * 100]
    }
    await relay(100, nowSeconds + 700)
    t.strictSame(await state(), [1, '100', 1_000])
    await relay(100, nowSeconds + 700)
    await relay(99, nowSeconds + 1_700)
    t.strictSame(await state(), [1, '100', 1_000], 'the same revocation and an older one')
    await relay(101, nowSeconds + 200)
    t.strictSame(await state(), [2, '101', 1_000], 'a later one with an earlier expiry')
    await relay(102, nowSeconds + 1_700)
    t.strictSame(await state(), [3, '102', 2_000], 'a later expiry')
    t.equal(await redis.get(`${RELAYED}:subject:s`), '102')
    await relay(50, nowSeconds + 200, 'https://other.test')
    t.strictSame(await state(), [4, '102', 2_000], 'an older revocation of another issuer')
  },
)

t.test('the script PUBLISH uses the clock of Redis when it gets no time', async (t) => {
  const redis = await aRedis(t)
  const publish = (...more: string[]) =>
    redis.eval(
      `${PUBLISH} publish(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])`,
      2,
      REVOCATION_STREAM,
      'mark',
      'entry',
      '60',
      ...more,
    )
  const [before] = await redis.time()
  await publish()
  const [after] = await redis.time()
  const at = Number(await redis.get('mark'))
  t.ok(at >= Number(before) && at <= Number(after))
  t.ok([59, 60].includes(await redis.ttl('mark')))
  await publish('7')
  t.equal(await redis.get('mark'), '7')
  t.strictSame(
    (await redis.xrange(REVOCATION_STREAM, '-', '+')).map(([, fields]) => fields),
    [
      ['r', 'entry'],
      ['r', 'entry'],
    ],
  )
})

t.test('the stream contains at most about 100,000 entries', async (t) => {
  const redis = await aRedis(t)
  await redis.eval(
    `for i = 1, 100299 do redis.call('XADD', KEYS[1], '*', 'r', '{}') end`,
    1,
    REVOCATION_STREAM,
  )
  await relayRevocation(redis, { ...aRevocation({ grant: 'g' }), issuer: ISSUER }, 1_800_000_000)
  const length = await redis.xlen(REVOCATION_STREAM)
  t.ok(length >= 100_000 && length < 100_100, `${length} entries`)
})
