import { BlockList, isIP } from 'node:net'
import { parseCidr } from '../../platform/diagnostics/schema/cidr.ts'

/** The peers whose forwarding headers the gateway trusts. */
export type TrustedProxies = {
  /**
   * Costs a fraction of a microsecond.
   * @param address normalized (normalize-ip.ts).
   */
  has(address: string): boolean
}

/**
 * Compiles CIDR blocks.
 * @returns undefined for an empty list.
 * @throws {Error} for an invalid block, which the configuration schema rejects earlier.
 */
export function compileTrustedProxies(blocks: readonly string[]): TrustedProxies | undefined {
  if (blocks.length === 0) return undefined
  const list = new BlockList()
  for (const block of blocks) {
    const cidr = parseCidr(block)
    if (cidr === undefined) throw new Error(`"${block}" is not a valid CIDR block`)
    list.addSubnet(cidr.address, cidr.prefixBits, cidr.family)
  }
  return {
    has(address) {
      const version = isIP(address)
      return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
    },
  }
}
