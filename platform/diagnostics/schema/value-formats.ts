import { BlockList, isIP } from 'node:net'

/** A whole number and a unit. Seven digits keep the milliseconds exact. */
export const DURATION_PATTERN = '^[0-9]{1,7}(ms|s|m|h|d)$'

/** A duration for a timer, from 1 ms to 99 h. Node fires a timer immediately when its delay exceeds 24.8 days. */
export const TIMEOUT_PATTERN = '^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$'

/** A window for counters, from 1 s to 24 h, in whole seconds. */
export const WINDOW_PATTERN =
  '^([1-9][0-9]{0,3}s|[1-7][0-9]{4}s|8[0-5][0-9]{3}s|86[0-3][0-9]{2}s|86400s|[1-9][0-9]{0,2}m|1[0-3][0-9]{2}m|14[0-3][0-9]m|1440m|[1-9]h|1[0-9]h|2[0-4]h)$'

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/**
 * Parses a duration such as `250ms`, `5s`, `1m`, `12h` or `30d`.
 * @returns milliseconds, or undefined when the text is not a duration.
 */
export function parseDurationMs(text: string): number | undefined {
  if (!new RegExp(DURATION_PATTERN).test(text)) return undefined
  const unit = text.replace(/^[0-9]+/, '')
  const msPerUnit = MS_PER_UNIT[unit]
  return msPerUnit === undefined ? undefined : Number.parseInt(text, 10) * msPerUnit
}

/** Formats milliseconds in the largest unit that divides them, e.g. `90s` or `2m`. Does not use days. */
export function formatDuration(ms: number): string {
  const [unit, size] = Object.entries(MS_PER_UNIT).findLast(
    ([name, one]) => name !== 'd' && ms % one === 0,
  ) ?? ['ms', 1]
  return `${ms / size}${unit}`
}

export const BYTE_SIZE_PATTERN = '^[0-9]{1,6}(B|KiB|MiB|GiB)$'

const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
}

/**
 * Parses a size such as `512B`, `16KiB`, `10MiB` or `1GiB`. Rejects decimal units (`KB`), because they are ambiguous.
 * @returns bytes, or undefined when the text is not a size.
 */
export function parseByteSize(text: string): number | undefined {
  if (!new RegExp(BYTE_SIZE_PATTERN).test(text)) return undefined
  const unit = text.replace(/^[0-9]+/, '')
  const bytesPerUnit = BYTES_PER_UNIT[unit]
  return bytesPerUnit === undefined ? undefined : Number.parseInt(text, 10) * bytesPerUnit
}

/** Formats bytes in the largest unit that divides them, e.g. `10MiB`. */
export function formatByteSize(bytes: number): string {
  const [unit, size] = Object.entries(BYTES_PER_UNIT).findLast(([, one]) => bytes % one === 0) ?? ['B', 1]
  return `${bytes / size}${unit}`
}

/** A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address. */
type Cidr = {
  readonly address: string
  readonly prefixBits: number
  readonly family: 'ipv4' | 'ipv6'
}

const CIDR = /^([0-9A-Fa-f:.]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/

/** IPv4 addresses in the form of IPv6. Source: RFC 4291 section 2.5.5.2. */
const MAPPED = new BlockList()
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6')

/**
 * Parses a block of addresses. Source: RFC 4632 section 3.1, RFC 4291 section 2.3.
 * @returns undefined for invalid text and for a block of all addresses (`/0`). Also undefined for an IPv6 block with IPv4
 * addresses (`::ffff:…`, `::/8`), because the gateway compares such addresses as IPv4.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', prefix] = CIDR.exec(text) ?? []
  const version = isIP(address)
  if (version === 0) return undefined
  const widthBits = version === 4 ? 32 : 128
  const prefixBits = prefix === undefined ? widthBits : Number(prefix)
  if (prefixBits < 1 || prefixBits > widthBits) return undefined
  if (version === 6 && (MAPPED.check(address, 'ipv6') || containsIpv4(address, prefixBits))) return undefined
  return { address, prefixBits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

function containsIpv4(address: string, prefixBits: number): boolean {
  const block = new BlockList()
  block.addSubnet(address, prefixBits, 'ipv6')
  return block.check('0.0.0.0', 'ipv4')
}
