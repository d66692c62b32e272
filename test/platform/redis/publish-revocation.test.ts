import { Redis } from 'ioredis'
import t from 'tap'
import { relayRevocation } from '../../../platform/redis/publish-revocation.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM } from '../../../platform/redis/revocation-keys.ts'
import { aRevocation } from '../../fixtures/a-revocation.ts'
import { startRedis } from '../../fixtures/start-redis.ts'

const HOUR_MS = 3_600_000
const DAY_SECONDS = 86_400
/** Redis trims whole nodes of 100 entries, so at most one node of these entries remains. */
const ENTRIES = 250

t.test('a stream entry is trimmed when every token that it concerns has expired', async (t) => {
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
