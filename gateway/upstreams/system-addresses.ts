import { lookup } from 'node:dns/promises'
import type { Address } from './name-addresses.ts'

/**
 * Resolves all addresses of a name with the system resolver (hosts file, name service). Each lookup occupies a thread
 * of Node's small thread pool.
 */
export function systemAddresses(hostname: string): Promise<readonly Address[]> {
  return lookup(hostname, { all: true })
}
