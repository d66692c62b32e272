import { BlockList } from 'node:net'
import type { ResolveName } from '../../platform/net/resolve-name.ts'

/**
 * Addresses that a host name of a policy source must not resolve to: this machine, link-local, multicast and reserved
 * networks, and metadata services of cloud providers. The team that owns the name could otherwise reach services
 * without a permission.
 */
const FORBIDDEN = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['224.0.0.0', 3],
] as const)
  FORBIDDEN.addSubnet(network, bits, 'ipv4')
FORBIDDEN.addAddress('100.100.100.200', 'ipv4')
FORBIDDEN.addAddress('168.63.129.16', 'ipv4')
for (const [network, bits] of [
  ['::', 127],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
] as const)
  FORBIDDEN.addSubnet(network, bits, 'ipv6')

/**
 * Prefixes of IPv6 addresses that contain an IPv4 address: NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056), and
 * IPv4-compatible addresses (RFC 4291 section 2.5.5).
 */
const EMBEDDED = new BlockList()
EMBEDDED.addSubnet('64:ff9b::', 96, 'ipv6')
EMBEDDED.addSubnet('64:ff9b:1::', 48, 'ipv6')
EMBEDDED.addSubnet('2002::', 16, 'ipv6')
EMBEDDED.addSubnet('::', 96, 'ipv6')

/** Returns whether a name of a policy source may resolve to an address. */
export function isReachableBySources(address: string, family: number): boolean {
  // BlockList compares IPv4-mapped addresses (`::ffff:127.0.0.1`) with the IPv4 networks.
  if (family === 4) return !FORBIDDEN.check(address, 'ipv4')
  return !FORBIDDEN.check(address, 'ipv6') && !EMBEDDED.check(address, 'ipv6')
}

/**
 * Limits the addresses of a host name. The result has no forbidden address. The lookup fails if all addresses are
 * forbidden. The name `localhost` stays usable, because the operator has permitted this name.
 */
export function guardAddresses(resolve: ResolveName): ResolveName {
  return async (hostname) => {
    const addresses = await resolve(hostname)
    if (hostname === 'localhost') return addresses
    const permitted = addresses.filter(({ address, family }) => isReachableBySources(address, family))
    if (permitted.length > 0) return permitted
    throw Object.assign(
      new Error(`${hostname} resolves only to addresses that policy sources must not use`),
      {
        code: 'ENOTFOUND',
      },
    )
  }
}
