import { canonicalTarget, type TargetRules } from '../../policy-engine/match/canonical-target.ts'

/**
 * Matches the start of an address with exactly two slashes after the scheme. `URL` also accepts backslashes, and fewer
 * or more slashes. For such an address, `isRequestAddress()` would read a different path than `URL`. RFC 3986 section
 * 3.
 */
const WITH_AUTHORITY = /^https?:\/\/[^/\\]/i
const QUERY_OR_FRAGMENT = /[?#]/

/**
 * Returns whether an address names the current request. The origin of the address must equal the origin of the base
 * URL; the `Host` header is ignored. The path of the address must equal the canonical path of the request. Query and
 * fragment are ignored.
 * Source: RFC 9449 section 4.3, step 9, with the normalization of RFC 3986 sections 6.2.2 and 6.2.3.
 * @param path canonical.
 */
export function isRequestAddress(address: string, path: string, rules: TargetRules): boolean {
  if (!WITH_AUTHORITY.test(address) || !URL.canParse(address)) return false
  const { origin, username, password } = new URL(address)
  if (origin !== rules.origin || username !== '' || password !== '') return false
  // Reads the path from the original text, because `URL` removes dot segments.
  const behind = address.slice(address.indexOf('//') + 2)
  const pathAt = behind.indexOf('/')
  const end = behind.search(QUERY_OR_FRAGMENT)
  const whole = end === -1 ? behind : behind.slice(0, end)
  const target = pathAt === -1 || pathAt >= whole.length ? '/' : whole.slice(pathAt)
  const canonical = canonicalTarget(target, rules)
  return !('rejected' in canonical) && canonical.path === path
}
