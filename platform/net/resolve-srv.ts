import type { SrvRecord } from 'node:dns'
import { Resolver } from 'node:dns/promises'

/**
 * Resolves the SRV records of a name. RFC 2782. Rejects if the name has no record.
 * @param signal ends the lookup.
 */
export type ResolveSrv = (name: string, signal: AbortSignal) => Promise<readonly SrvRecord[]>

/** Time for the first response of a name server. Milliseconds. */
const TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * Resolves SRV records with the name servers of the system. Each call reads the addresses of the name servers again, and
 * caches nothing: the name servers cache the records for their TTL.
 */
export const systemSrvRecords: ResolveSrv = async (name, signal) => {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await resolver.resolveSrv(name)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
