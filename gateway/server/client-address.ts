import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net'
import { parseCidr } from '../../platform/diagnostics/schema/value-formats.ts'
import { normalizeIp } from '../../platform/net/normalize-ip.ts'

/**
 * The only header from which the gateway reads client addresses. Trusted proxies set this header. A client could set
 * any other header. Each header except `forwarded` has the format of `x-forwarded-for`.
 */
export type ForwardedHeader = 'forwarded' | `x-${string}`

const IPV4_WITH_PORT = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/
const BRACKETED = /^\[([^[\]]{2,45})\](?::\d{1,5})?$/
// An unquoted value must not start with a space. Otherwise two parts of the expression match spaces, and long runs of
// spaces take quadratic time.
const FOR = /^for *= *(?:"([^"\\]*)"|([^" \\][^"\\]*)?)$/i

/**
 * Returns the client address of a request that came through trusted proxies. Each proxy appends the address of its
 * peer, so the function reads the list from the right. A trusted address confirms the entry to its left. The first
 * untrusted address is the client. If an entry is unreadable, the address to the right of this entry is the client.
 * Source: RFC 7239 sections 4, 5.2 and 6.
 * @param peer the normalized address of the connection. The caller must check that the peer is trusted.
 */
export function clientAddress(
  peer: string,
  value: string,
  options: { readonly header: ForwardedHeader; readonly trusted: TrustedProxies },
): string {
  let known = peer
  let end = value.length
  for (;;) {
    const comma = end === 0 ? -1 : value.lastIndexOf(',', end - 1)
    const entry = value.slice(comma + 1, end).trim()
    const address = readAddress(options.header === 'forwarded' ? readFor(entry) : entry)
    if (address === undefined) return known
    known = address
    if (comma === -1 || !options.trusted.has(address)) return known
    end = comma
  }
}

/**
 * Reads `for=192.0.2.43;proto=http` or `for="[2001:db8::17]:4711"`; returns '' unless there is exactly one `for`
 * parameter.
 */
function readFor(element: string): string {
  const found = element.split(';').flatMap((pair) => {
    const matched = FOR.exec(pair.trim())
    return matched === null ? [] : [matched[1] ?? matched[2] ?? '']
  })
  return found.length === 1 ? (found[0] ?? '') : ''
}

/** Reads an address with or without a port; returns undefined for `unknown`, obfuscated names and anything else. */
function readAddress(text: string): string | undefined {
  const bare = IPV4_WITH_PORT.exec(text)?.[1] ?? BRACKETED.exec(text)?.[1] ?? text
  if (isIP(bare) === 0) return undefined
  const address = normalizeIp(bare)
  // A proxy can write an IPv6 address in another form than the operating system. Each address has one rate limit.
  return isIPv6(address) ? normalizeIp(new SocketAddress({ address, family: 'ipv6' }).address) : address
}

export type TrustedProxies = {
  /**
   * Returns whether the address belongs to a trusted proxy.
   * @param address normalized by `normalizeIp()`.
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
