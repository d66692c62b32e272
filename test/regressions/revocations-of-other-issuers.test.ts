import { Redis } from 'ioredis'
import t from 'tap'
import { readRevocation, writeRevocation } from '../../oauth/revocation.ts'
import { relayRevocation } from '../../platform/redis/publish-revocation.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM, revokedKey } from '../../platform/redis/revocation-keys.ts'
import { revocationName } from '../../platform/revocation-name.ts'
import { aRevocation } from '../fixtures/a-revocation.ts'
import { startRedis } from '../fixtures/start-redis.ts'

const server = await startRedis({ folder: t.testdir() })
const redis = new Redis(server.url)
t.teardown(async () => {
  redis.disconnect()
  await server.stop()
})
const now = 1_800_000_000
const ofA = (atSeconds: number, change = {}) => ({
  ...aRevocation({ subject: revocationName('https://a.test', 'user-1'), atSeconds, ...change }),
  issuer: 'https://a.test',
})

t.beforeEach(() => redis.flushall())

async function heard(): Promise<readonly unknown[]> {
  const entries = await redis.xrange(REVOCATION_STREAM, '-', '+')
  return entries.map(([, fields]) => readRevocation(fields[fields.indexOf(REVOCATION_FIELD) + 1] ?? ''))
}

t.test('no issuer can suppress the revocations of another issuer', async (t) => {
  // An attacker can compute the identifier of a subject of another issuer.
  const ofB = { ...ofA(now + 1e9), issuer: 'https://b.test' }
  await relayRevocation(redis, ofB, now)
  await relayRevocation(redis, ofA(now), now)
  t.same(await heard(), [ofB, ofA(now)])
  await relayRevocation(redis, ofA(now), now)
  await relayRevocation(redis, ofA(now - 1), now)
  t.equal((await heard()).length, 2, 'the same or an older revocation is published once')
  await relayRevocation(redis, ofA(now + 1), now)
  t.equal((await heard()).length, 3)
})

t.test('a later revocation with a shorter lifetime does not shorten an earlier one', async (t) => {
  const mark = revokedKey('subject', ofA(now).subject ?? '')
  await relayRevocation(redis, ofA(now), now)
  await relayRevocation(redis, ofA(now + 1, { expiresAtSeconds: now + 60 }), now)
  t.ok((await redis.ttl(mark)) > 80_000)
  t.equal(await redis.get(mark), `${now + 1}`)
})

t.test('subscribers can parse a revocation of an issuer with any name', async (t) => {
  for (const issuer of [`https://login.test/${'tenant'.repeat(100)}`, 'https://a.test/schlüssel']) {
    const revocation = { ...ofA(now), issuer }
    t.same(readRevocation(writeRevocation(revocation)), revocation)
  }
})
