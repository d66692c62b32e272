import type { AnonymousRule } from '../load/policy-route.ts'
import type { RequestValues } from '../match/request-values.ts'
import type { Resource } from '../match/resource.ts'
import type { Caller } from './caller.ts'
import { checkConfirmation } from './check-confirmation.ts'
import type { CompiledCondition } from './compile-condition.ts'
import { NO_POSSESSION_PROOF, type PossessionProof } from './possession-proof.ts'
import type { Refusal, TokenFault } from './refusal.ts'
import type { ScopeCheck, ScopeNeed } from './scope-check.ts'

/** What the access to a route depends on besides caller and route. */
export type AccessRequest = {
  readonly nowSeconds: number
  /** What the token must be meant for, and who may have issued it: that of the path that was asked for. */
  readonly resource: Pick<Resource, 'identifier' | 'issuers'>
  /** What else the request shows; undefined: a Bearer token, and no certificate. */
  readonly possessionProof?: PossessionProof | undefined
  /** What conditions compare claims with; undefined: no condition on such a value holds. */
  readonly values?: RequestValues | undefined
}

/** What a route asks of its callers. */
export type AccessRule = {
  readonly anonymous: AnonymousRule
  readonly scopes: ScopeCheck | undefined
  /** Every one of them has to hold. */
  readonly when: readonly CompiledCondition[]
}

const NONE: readonly string[] = []
const NO_VALUES: RequestValues = Object.freeze({ params: {}, query: '', header: () => undefined })

/**
 * May this caller do this? The second half of a decision, the same in the server, in `explain` and in policy tests.
 * Claims come from a cache, so issuer, audience, expiry and scopes are looked at on every request.
 * @returns undefined to allow; else `token_missing`, `token_invalid`, `scope_missing` or `condition_failed`.
 */
export function checkAccess(
  request: AccessRequest,
  caller: Caller | undefined,
  rule: AccessRule,
): Refusal | undefined {
  if (caller === undefined) {
    if (rule.anonymous === 'allow') return undefined
    return { refused: 'token_missing', anonymous: rule.anonymous, needed: rule.scopes?.needed ?? NONE }
  }
  const fault = checkToken(request, caller)
  if (fault !== undefined) return { refused: 'token_invalid', fault }
  const missing = rule.scopes === undefined ? NONE : missingScopes(caller.scopes, rule.scopes)
  if (missing.length > 0) return { refused: 'scope_missing', needed: rule.scopes?.needed ?? NONE, missing }
  if (rule.when.length === 0) return undefined
  const failed = rule.when.find(({ holds }) => !holds(caller.claims, request.values ?? NO_VALUES))
  return failed && { refused: 'condition_failed', condition: failed.text }
}

/** Whether a token is good at a path, whatever the route asks for: issuer, time, binding and audience. */
export function checkToken(request: AccessRequest, caller: Caller): TokenFault | undefined {
  if (!request.resource.issuers.includes(caller.issuer)) return { reason: 'wrong_issuer' }
  if (caller.expiresAtSeconds <= request.nowSeconds) {
    const secondsAgo = Math.floor(request.nowSeconds - caller.expiresAtSeconds)
    return { reason: 'expired', secondsAgo }
  }
  if (caller.notBeforeSeconds !== undefined && caller.notBeforeSeconds > request.nowSeconds)
    return { reason: 'not_yet_valid' }
  const unproven = checkConfirmation(caller.confirmation, request.possessionProof ?? NO_POSSESSION_PROOF)
  if (unproven !== undefined) return unproven
  const { identifier } = request.resource
  if (!caller.audience.includes(identifier))
    return { reason: 'wrong_audience', expected: identifier, actual: caller.audience }
  return undefined
}

/** The scopes that a token lacks: exact members, in policy order; for `any`, the advertised one stands for all of them. */
export function missingScopes(
  held: ReadonlySet<string>,
  { all, any, advertised }: ScopeCheck,
): readonly string[] {
  const isHeld = ({ grantedBy }: ScopeNeed): boolean => grantedBy.some((scope) => held.has(scope))
  const missing = all.every(isHeld) ? NONE : all.filter((need) => !isHeld(need)).map(({ scope }) => scope)
  return advertised === undefined || any.some(isHeld) ? missing : [...missing, advertised]
}
