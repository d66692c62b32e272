import { hash } from 'node:crypto'
import { ipPrefix } from '../../platform/net/ip-prefix.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { singleClaim } from '../../policy-engine/decide/named-claims.ts'
import type { RateLimit } from '../../policy-engine/format/rate-limit.ts'

/**
 * Returns the key under which a request is counted. With `by: subject`, the key names the subject. With `by: client`,
 * or without a subject, the key names the client. With `by: ip`, or without a client, the key names the IP address.
 * With `by: route`, all requests have the same key. With `by: claim`, the key names the value of the claim or, without
 * exactly one value, the IP address. A caller cannot escape a limit by omitting the token. Subjects and client IDs are
 * unique only together with their issuer. IPv6 addresses are counted by /64 prefix, because the holder of one address
 * controls the whole prefix.
 */
export function rateLimitKey(
  limit: Pick<RateLimit, 'by' | 'claim' | 'keyPrefix'>,
  caller: Caller | undefined,
  clientAddress: string,
): string {
  const { by, keyPrefix } = limit
  if (by === 'route') return keyPrefix
  if (by !== 'ip' && caller !== undefined) {
    const { issuer, subject, clientId } = caller
    if (by === 'claim') {
      const value = limit.claim === undefined ? undefined : singleClaim(caller.claims, limit.claim)
      if (value !== undefined) return `${keyPrefix}v:${shortened(`${issuer} ${value}`)}`
      return `${keyPrefix}a:${ipPrefix(clientAddress)}`
    }
    if (by === 'subject' && subject !== undefined) return `${keyPrefix}s:${shortened(`${issuer} ${subject}`)}`
    if (clientId !== undefined) return `${keyPrefix}c:${shortened(`${issuer} ${clientId}`)}`
  }
  return `${keyPrefix}a:${ipPrefix(clientAddress)}`
}

/**
 * Maximum length of a name in a key. The key contains a hash of a longer name, because the limiter stores many keys.
 */
const MAX_NAME_LENGTH = 100

function shortened(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `#${hash('sha256', name, 'base64url')}`
}
