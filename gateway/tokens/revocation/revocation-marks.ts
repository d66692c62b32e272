import type { Redis } from 'ioredis'
import { revokedKey } from '../../../platform/redis/revocation-keys.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { subjectName } from './revoked-tokens.ts'

/**
 * Whether Redis knows that the token was revoked: for verdicts that come from Redis themselves, which this process may
 * not have heard about. The mark is written in the same step as the revocation. Cost: one round trip.
 */
export async function isMarkedRevoked(redis: Pick<Redis, 'mget'>, caller: Caller): Promise<boolean> {
  const { issuer, grant, tokenId, subject, issuedAtSeconds } = caller
  const [ofGrant, ofToken, ofSubject] = await redis.mget(
    revokedKey('grant', grant ?? '-'),
    revokedKey('token', tokenId ?? '-'),
    revokedKey('subject', subject === undefined ? '-' : subjectName(issuer, subject)),
  )
  if (typeof ofGrant === 'string' || typeof ofToken === 'string') return true
  return typeof ofSubject === 'string' && !(Number(issuedAtSeconds ?? 0) > Number(ofSubject))
}
