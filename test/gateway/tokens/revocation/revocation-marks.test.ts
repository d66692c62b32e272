import { Redis } from 'ioredis'
import t from 'tap'
import { createRevokedTokens, isMarkedRevoked } from '../../../../gateway/tokens/revocation/revoked-tokens.ts'
import { relayRevocation } from '../../../../platform/redis/publish-revocation.ts'
import { revocationName } from '../../../../platform/revocation-name.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { aRevocation } from '../../../fixtures/a-revocation.ts'
import { startRedis } from '../../../fixtures/start-redis.ts'

const { issuer } = aCaller()
const REVOKED_AT = 1_000
/** The issue time of a token in epoch seconds, and whether the revocation of the subject applies to the token. */
const ROWS = [
  [REVOKED_AT - 1, true],
  [REVOKED_AT, true],
  [REVOKED_AT + 1, false],
  [undefined, true],
] as const
const revocation = {
  ...aRevocation({ subject: revocationName(issuer, 'user-1'), atSeconds: REVOKED_AT }),
  issuer,
}

t.test('a key in Redis revokes a token that was issued in the same second as the revocation', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  await relayRevocation(redis, revocation, REVOKED_AT)
  for (const [issuedAtSeconds, isRevoked] of ROWS)
    t.equal(
      await isMarkedRevoked(redis, aCaller({ issuedAtSeconds })),
      isRevoked,
      `issued at ${issuedAtSeconds}`,
    )
})

t.test('a revocation in this process applies to the same tokens as its key in Redis', async (t) => {
  const revoked = createRevokedTokens({ onEvicted: () => t.fail('nothing was evicted') })
  revoked.add(revocation, undefined, REVOKED_AT)
  for (const [issuedAtSeconds, isRevoked] of ROWS)
    t.equal(revoked.has(aCaller({ issuedAtSeconds })), isRevoked, `issued at ${issuedAtSeconds}`)
})
