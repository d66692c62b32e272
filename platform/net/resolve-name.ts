import { lookup } from 'node:dns/promises'

/** `family` is 4 or 6. */
export type Address = { readonly address: string; readonly family: number }

/** Resolves all addresses of a name. Rejects if the name has no address. */
export type ResolveName = (hostname: string) => Promise<readonly Address[]>

/**
 * Resolves all addresses of a name with the system resolver (hosts file, name service). Each lookup occupies a thread
 * of Node's small thread pool.
 */
export function systemAddresses(hostname: string): Promise<readonly Address[]> {
  return lookup(hostname, { all: true })
}
