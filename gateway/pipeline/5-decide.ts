import type { Caller } from '../identity/caller.ts'
import { checkConfirmation } from '../identity/check-confirmation.ts'
import { NOTHING_PROVEN, type Proven } from '../identity/proven.ts'
import type { Refusal } from '../refusal.ts'
import type { AnonymousRule } from '../routes/policy-route.ts'
import type { Resource } from '../routes/resource.ts'
import type { ScopeCheck, ScopeNeed } from '../routes/scope-check.ts'

/** What a decision depends on besides caller and route. */
export type DecisionRequest = {
  readonly nowSeconds: number
  /** What the token must be meant for, and who may have issued it: that of the path that was asked for. */
  readonly resource: Pick<Resource, 'identifier' | 'issuers'>
  /** What else the request shows; undefined: a Bearer token, and no certificate. */
  readonly proven?: Proven | undefined
}

/** What a route asks of its callers. */
export type AccessRule = { readonly anonymous: AnonymousRule; readonly scopes: ScopeCheck | undefined }

const NONE: readonly string[] = []

/**
 * Stage 5: may this caller do this? The same function answers in the server, in `explain` and in policy tests;
 * claims come from a cache, so issuer, audience, expiry and scopes are looked at on every request.
 * @returns undefined to allow; else `token_missing`, `token_invalid` or `scope_missing`.
 */
export function decide(
  request: DecisionRequest,
  caller: Caller | undefined,
  rule: AccessRule,
): Refusal | undefined {
  if (caller === undefined) {
    if (rule.anonymous === 'allow') return undefined
    return { refused: 'token_missing', anonymous: rule.anonymous, needed: rule.scopes?.needed ?? NONE }
  }
  if (!request.resource.issuers.includes(caller.issuer))
    return { refused: 'token_invalid', fault: { reason: 'wrong_issuer' } }
  if (caller.expiresAtSeconds <= request.nowSeconds) {
    const secondsAgo = Math.floor(request.nowSeconds - caller.expiresAtSeconds)
    return { refused: 'token_invalid', fault: { reason: 'expired', secondsAgo } }
  }
  if (caller.notBeforeSeconds !== undefined && caller.notBeforeSeconds > request.nowSeconds)
    return { refused: 'token_invalid', fault: { reason: 'not_yet_valid' } }
  const unproven = checkConfirmation(caller.confirmation, request.proven ?? NOTHING_PROVEN)
  if (unproven !== undefined) return { refused: 'token_invalid', fault: unproven }
  if (!caller.audience.includes(request.resource.identifier))
    return { refused: 'token_invalid', fault: { reason: 'wrong_audience' } }
  if (rule.scopes === undefined) return undefined
  const missing = missingScopes(caller.scopes, rule.scopes)
  if (missing.length === 0) return undefined
  return { refused: 'scope_missing', needed: rule.scopes.needed, missing }
}

/** Exact members, in policy order; for `any`, the advertised one stands for all of them. */
function missingScopes(held: ReadonlySet<string>, { all, any, advertised }: ScopeCheck): readonly string[] {
  const isHeld = ({ grantedBy }: ScopeNeed): boolean => grantedBy.some((scope) => held.has(scope))
  const missing = all.every(isHeld) ? NONE : all.filter((need) => !isHeld(need)).map(({ scope }) => scope)
  return advertised === undefined || any.some(isHeld) ? missing : [...missing, advertised]
}
