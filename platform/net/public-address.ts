import { BlockList, isIP } from 'node:net'

/**
 * IPv4 networks that are not public. Source: IANA IPv4 Special-Purpose Address Registry. The list also has multicast
 * and reserved networks, and 168.63.129.16, at which Azure serves the metadata of a virtual machine.
 */
const SPECIAL_IPV4 = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  SPECIAL_IPV4.addSubnet(network, bits, 'ipv4')

/** The only network of public IPv6 addresses. RFC 4291 section 2.4. */
const GLOBAL_IPV6 = new BlockList()
GLOBAL_IPV6.addSubnet('2000::', 3, 'ipv6')

/** Networks in 2000::/3 that are not public. Source: IANA IPv6 Special-Purpose Address Registry. */
const SPECIAL_IPV6 = new BlockList()
for (const [network, bits] of [
  ['2001::', 23], // Teredo, ORCHID, benchmarks
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4: contains an IPv4 address
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const)
  SPECIAL_IPV6.addSubnet(network, bits, 'ipv6')

/**
 * Returns whether an address is on the public Internet. IPv6 addresses that contain an IPv4 address (IPv4-mapped,
 * NAT64, 6to4) are not public, because their route depends on the local network.
 */
export function isPublicAddress(address: string): boolean {
  // A zone id names an interface of this machine. BlockList ignores it.
  if (address.includes('%')) return false
  switch (isIP(address)) {
    case 4:
      return !SPECIAL_IPV4.check(address, 'ipv4')
    case 6:
      return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6')
    default:
      return false
  }
}
