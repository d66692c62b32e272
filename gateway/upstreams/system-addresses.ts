import { lookup } from 'node:dns/promises'
import type { Address } from './name-addresses.ts'

/** All addresses that the system has for a name: its hosts file, its name service. It holds one of few threads meanwhile. */
export function systemAddresses(hostname: string): Promise<readonly Address[]> {
  return lookup(hostname, { all: true })
}
