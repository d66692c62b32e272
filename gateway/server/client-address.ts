import { isIP } from 'node:net'
import { normalizeIp } from './normalize-ip.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** The one header that trusted proxies are believed in; what another says came from the client. */
export type ForwardedHeader = 'x-forwarded-for' | 'forwarded'

const IPV4_WITH_PORT = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/
const BRACKETED = /^\[([^[\]]{2,45})\](?::\d{1,5})?$/
// A value without quotes begins with what is no space: else spaces could be read two ways, and long runs of them in n² steps.
const FOR = /^for *= *(?:"([^"\\]*)"|([^" \\][^"\\]*)?)$/i

/**
 * Who sent a request that a trusted proxy passed on. Proxies append, so the list is read from the right: each trusted
 * address vouches for the one before it, and the first that is not trusted is the client. What cannot be read vouches
 * for nothing: then the last address that could be is the client.
 * Source: RFC 7239 sections 4, 5.2 and 6.
 * @param peer the plain address of the connection; only a trusted one may be asked about.
 * @returns an address, always.
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

/** `for=192.0.2.43;proto=http` or `for="[2001:db8::17]:4711"`. Twice in one element is nothing. */
function readFor(element: string): string {
  const found = element.split(';').flatMap((pair) => {
    const matched = FOR.exec(pair.trim())
    return matched === null ? [] : [matched[1] ?? matched[2] ?? '']
  })
  return found.length === 1 ? (found[0] ?? '') : ''
}

/** With or without a port; undefined for `unknown`, hidden names and anything else. */
function readAddress(text: string): string | undefined {
  const bare = IPV4_WITH_PORT.exec(text)?.[1] ?? BRACKETED.exec(text)?.[1] ?? text
  return isIP(bare) === 0 ? undefined : normalizeIp(bare)
}
