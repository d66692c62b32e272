import type { ClaimValue } from '../../../policy-engine/decide/named-claims.ts'
import type { TokenStatus } from './token-status.ts'

/** Objects, arrays and the key of an empty entry, measured by `npm run soak:tokens`. Bytes. */
const EMPTY_ENTRY_BYTES = 440
/** Overhead of a string, whatever its length. Bytes. */
const TEXT_BYTES = 16
/** An entry of a map. Bytes. */
const CLAIM_BYTES = 48
/** A scope in a set that no other token shares. Bytes. */
const SCOPE_BYTES = 32

/**
 * Estimates the memory of a cached token status, in bytes. The estimate keeps tokens with long claims from making a
 * cache of many entries too large. Strings are ASCII. A set of scopes is counted for each token, although tokens of one
 * client share it.
 */
export function tokenStatusBytes(status: TokenStatus): number {
  if (!status.active) return EMPTY_ENTRY_BYTES
  const { caller } = status
  let bytes = EMPTY_ENTRY_BYTES + caller.scopes.size * SCOPE_BYTES
  for (const text of caller.audience) bytes += TEXT_BYTES + text.length
  for (const text of caller.identityHeaders) bytes += text.length
  for (const text of [caller.grant, caller.tokenId, caller.confirmation?.thumbprint])
    if (text !== undefined) bytes += TEXT_BYTES + text.length
  for (const [, value] of caller.claims) bytes += CLAIM_BYTES + claimBytes(value)
  return bytes
}

/** Claim names are not counted, because the policies own and share them. */
function claimBytes(value: ClaimValue | undefined): number {
  if (typeof value === 'string') return TEXT_BYTES + value.length
  if (typeof value !== 'object') return 0
  return value.reduce<number>((sum, member) => sum + claimBytes(member), value.length * TEXT_BYTES)
}
