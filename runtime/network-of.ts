/**
 * What counts as one address where attempts are counted: an IPv4 address, or the /64 of an IPv6 address, since whoever
 * has one address of it has all.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.toLowerCase().startsWith('::ffff:')) return address
  const [left = '', right = ''] = address.toLowerCase().split('::', 2)
  const head = left === '' ? [] : left.split(':')
  const tail = right === '' ? [] : right.split(':')
  const zeros = address.includes('::') ? Array.from({ length: 8 - head.length - tail.length }, () => '0') : []
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
