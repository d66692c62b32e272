import type { Caller } from '../identity/caller.ts'
import type { Refusal } from '../refusal.ts'
import { neededScopes } from '../routes/needed-scopes.ts'
import type { PolicyRoute, ScopeRule } from '../routes/policy-route.ts'

/** What a decision depends on besides caller and route. */
export type DecisionRequest = {
  readonly nowSeconds: number
  /** The resource that the token must be meant for: the base URL without a trailing slash. RFC 8707 section 2. */
  readonly audience: string
}

/**
 * Stage 5: may this caller do this? The same function answers in the server, in `explain` and in policy tests;
 * claims come from a cache, so expiry and audience are looked at on every request.
 * @returns undefined to allow; else `token_missing`, `token_invalid` or `scope_missing`.
 */
export function decide(
  request: DecisionRequest,
  caller: Caller | undefined,
  route: Pick<PolicyRoute, 'scopes' | 'anonymous'>,
): Refusal | undefined {
  if (caller === undefined) {
    if (route.anonymous === 'allow') return undefined
    return { refused: 'token_missing', anonymous: route.anonymous, needed: neededScopes(route.scopes) }
  }
  if (caller.expiresAtSeconds <= request.nowSeconds) {
    const secondsAgo = Math.floor(request.nowSeconds - caller.expiresAtSeconds)
    return { refused: 'token_invalid', fault: { reason: 'expired', secondsAgo } }
  }
  if (caller.notBeforeSeconds !== undefined && caller.notBeforeSeconds > request.nowSeconds)
    return { refused: 'token_invalid', fault: { reason: 'not_yet_valid' } }
  // RFC 9449 section 7.2, RFC 8705 section 3: a request proves no key so far, so a bound token opens nothing.
  if (caller.confirmation !== undefined)
    return { refused: 'token_invalid', fault: { reason: 'sender_constrained' } }
  if (!caller.audience.includes(request.audience))
    return { refused: 'token_invalid', fault: { reason: 'wrong_audience' } }
  if (route.scopes === undefined) return undefined
  const missing = missingScopes(caller.scopes, route.scopes)
  if (missing.length === 0) return undefined
  return { refused: 'scope_missing', needed: neededScopes(route.scopes), missing }
}

const NONE: readonly string[] = []

/** Exact members, in policy order; for `any`, the first listed stands for all of them. */
function missingScopes(held: ReadonlySet<string>, rule: ScopeRule): readonly string[] {
  const missing = rule.all.every((scope) => held.has(scope))
    ? NONE
    : rule.all.filter((scope) => !held.has(scope))
  const first = rule.any[0]
  if (first === undefined || rule.any.some((scope) => held.has(scope))) return missing
  return [...missing, first]
}
