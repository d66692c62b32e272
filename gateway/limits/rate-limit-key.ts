import { hash } from 'node:crypto'
import { ipPrefix } from '../../platform/net/ip-prefix.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { RateLimit } from '../../policy-engine/format/rate-limit.ts'

/**
 * Who a request is counted for. Where there is no subject the client is counted, and where there is no client the
 * address: nobody escapes by sending less. A name is somebody's only together with its issuer. Of IPv6 the /64 counts, since whoever has one address of it has all.
 */
export function rateLimitKey(
  limit: Pick<RateLimit, 'by' | 'keyPrefix'>,
  caller: Caller | undefined,
  clientAddress: string,
): string {
  const { by, keyPrefix } = limit
  if (by === 'route') return keyPrefix
  if (by !== 'ip' && caller !== undefined) {
    const { issuer, subject, clientId } = caller
    if (by === 'subject' && subject !== undefined) return `${keyPrefix}s:${shortened(`${issuer} ${subject}`)}`
    if (clientId !== undefined) return `${keyPrefix}c:${shortened(`${issuer} ${clientId}`)}`
  }
  return `${keyPrefix}a:${ipPrefix(clientAddress)}`
}

/** So many keys are kept that a long name must not make one large. */
const MAX_NAME_LENGTH = 100

function shortened(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `#${hash('sha256', name, 'base64url')}`
}
