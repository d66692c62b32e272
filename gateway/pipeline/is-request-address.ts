import { readProofAddress } from '../../oauth/dpop/proof-address.ts'
import { canonicalTarget, type TargetRules } from '../../policy-engine/match/canonical-target.ts'

/**
 * Returns whether an address names the current request. The origin of the address must equal the origin of the base
 * URL. Ignores the `Host` header. The path of the address must equal the canonical path of the request. Ignores query
 * and fragment. Source: RFC 9449 section 4.3, step 9, with the normalization of RFC 3986 sections 6.2.2 and 6.2.3.
 * @param path canonical path of the request.
 */
export function isRequestAddress(address: string, path: string, rules: TargetRules): boolean {
  const read = readProofAddress(address)
  if (read === undefined || read.origin !== rules.origin) return false
  const canonical = canonicalTarget(read.target, rules)
  return !('rejected' in canonical) && canonical.path === path
}
