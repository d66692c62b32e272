import { isIP } from 'node:net'

/** A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address. */
export type Cidr = {
  readonly address: string
  readonly prefixBits: number
  readonly family: 'ipv4' | 'ipv6'
}

const CIDR = /^([0-9A-Fa-f:.]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/

/**
 * Parses a block of addresses. Source: RFC 4632 section 3.1, RFC 4291 section 2.3.
 * @returns undefined for invalid text and for a block of all addresses (`/0`). Also undefined for an IPv4 address
 * written as IPv6 (`::ffff:…`), because the gateway compares such addresses as IPv4.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', prefix] = CIDR.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || address.toLowerCase().startsWith('::ffff:')) return undefined
  const widthBits = version === 4 ? 32 : 128
  const prefixBits = prefix === undefined ? widthBits : Number(prefix)
  if (prefixBits < 1 || prefixBits > widthBits) return undefined
  return { address, prefixBits, family: version === 4 ? 'ipv4' : 'ipv6' }
}
