const MAPPED = '::ffff:'

/**
 * The one spelling of a peer's address: an IPv4 address that a dual-stack socket shows as IPv6 is IPv4, and a zone is
 * left away. Source: RFC 4291 section 2.5.5.2.
 */
export function normalizeIp(address: string | undefined): string {
  if (address === undefined) return ''
  if (!address.includes(':')) return address
  const zone = address.indexOf('%')
  const bare = zone === -1 ? address : address.slice(0, zone)
  const rest = bare.slice(MAPPED.length)
  return rest.includes('.') && bare.slice(0, MAPPED.length).toLowerCase() === MAPPED ? rest : bare
}
