import { BlockList, isIP } from 'node:net'
import { parseCidr } from '../../platform/diagnostics/schema/cidr.ts'

/** The peers that are believed when they say on whose behalf they ask. */
export type TrustedProxies = {
  /** `address` is plain (plain-address.ts). Costs a fraction of a microsecond. */
  has(address: string): boolean
}

/**
 * Compiles blocks of addresses.
 * @returns undefined for none: then nobody is asked about.
 * @throws {Error} for a text that is no block; the configuration's schema finds that before.
 */
export function compileTrustedProxies(blocks: readonly string[]): TrustedProxies | undefined {
  if (blocks.length === 0) return undefined
  const list = new BlockList()
  for (const block of blocks) {
    const cidr = parseCidr(block)
    if (cidr === undefined) throw new Error(`"${block}" is not a block of addresses`)
    list.addSubnet(cidr.address, cidr.prefixBits, cidr.family)
  }
  return {
    has(address) {
      const version = isIP(address)
      return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
    },
  }
}
