import type { Redis } from 'ioredis'
import { revokedKey } from '../../../platform/redis/revocation-keys.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { subjectName } from './revoked-tokens.ts'

/**
 * Returns whether Redis holds a revocation mark of the token. The check is for results from the shared cache, because
 * this process may not have received the revocation. The mark is written in the same step as the revocation. Cost: one
 * round trip.
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
