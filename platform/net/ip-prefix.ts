/**
 * Returns the key for counting requests of an address: the IPv4 address, or a prefix of the IPv6 address. A host can
 * use all addresses of its /64. A site has at most a /48.
 */
export function ipPrefix(address: string, prefixBits: 48 | 64 = 64): string {
  if (!address.includes(':') || address.toLowerCase().startsWith('::ffff:')) return address
  const [left = '', right = ''] = address.toLowerCase().split('::', 2)
  const head = left === '' ? [] : left.split(':')
  const tail = right === '' ? [] : right.split(':')
  const zeros = address.includes('::') ? Array.from({ length: 8 - head.length - tail.length }, () => '0') : []
  return [...head, ...zeros, ...tail].slice(0, prefixBits / 16).join(':')
}
