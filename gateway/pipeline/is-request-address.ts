import { canonicalTarget, type TargetRules } from '../../policy-engine/match/canonical-target.ts'

/** The parser knows other ways to begin; what stands behind them would be read differently here. RFC 3986 section 3. */
const WITH_AUTHORITY = /^https?:\/\/[^/\\]/i
const QUERY_OR_FRAGMENT = /[?#]/

/**
 * Whether an address is that of a request: at the base URL, never at what `Host` says, and with the path that the request
 * is decided on. Query and fragment do not matter.
 * Source: RFC 9449 section 4.3, step 9, with the normalisation of RFC 3986 sections 6.2.2 and 6.2.3.
 * @param path canonical.
 */
export function isRequestAddress(address: string, path: string, rules: TargetRules): boolean {
  if (!WITH_AUTHORITY.test(address) || !URL.canParse(address)) return false
  const { origin, username, password } = new URL(address)
  if (origin !== rules.origin || username !== '' || password !== '') return false
  // What stands in the address, not what the parser made of it: that removes dot segments.
  const behind = address.slice(address.indexOf('//') + 2)
  const pathAt = behind.indexOf('/')
  const end = behind.search(QUERY_OR_FRAGMENT)
  const whole = end === -1 ? behind : behind.slice(0, end)
  const target = pathAt === -1 || pathAt >= whole.length ? '/' : whole.slice(pathAt)
  const canonical = canonicalTarget(target, rules)
  return !('refused' in canonical) && canonical.path === path
}
