const MAPPED = '::ffff:'

/**
 * Returns the canonical form of a peer address. Converts an IPv4-mapped IPv6 address of a dual-stack socket to IPv4,
 * and removes a zone. Source: RFC 4291 section 2.5.5.2.
 */
export function normalizeIp(address: string | undefined): string {
  if (address === undefined) return ''
  if (!address.includes(':')) return address
  const zone = address.indexOf('%')
  const bare = zone === -1 ? address : address.slice(0, zone)
  const rest = bare.slice(MAPPED.length)
  return rest.includes('.') && bare.slice(0, MAPPED.length).toLowerCase() === MAPPED ? rest : bare
}
