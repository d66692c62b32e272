import type { AnonymousRule, AuthenticationRule, EnforceRule } from '../load/policy-route.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import type { RequestValues } from '../match/request-values.ts'
import type { Resource } from '../match/resources.ts'
import type { Caller } from './caller.ts'
import { checkAuthentication } from './check-authentication.ts'
import type { CompiledCondition } from './compile-condition.ts'
import { checkConfirmation, NO_POSSESSION_PROOF, type PossessionProof } from './confirmation.ts'
import type { Rejection, TokenFault } from './rejection.ts'
import type { ScopeCheck, ScopeNeed } from './scope-check.ts'

export type AccessRequest = {
  readonly nowSeconds: number
  /** Resource of the request path: the required audience and the accepted issuers of the token. */
  readonly resource: Pick<Resource, 'identifier' | 'issuers'>
  /** Proof of possession. undefined: a Bearer token without a client certificate. */
  readonly possessionProof?: PossessionProof | undefined
  /** Request values for conditions. undefined: all conditions on request values fail. */
  readonly values?: RequestValues | undefined
}

export type AccessRule = {
  readonly anonymous: AnonymousRule
  /** Required sign-in of the person. undefined: the route accepts every sign-in. */
  readonly authentication: AuthenticationRule | undefined
  readonly scopes: ScopeCheck | undefined
  /** Conditions of the route. All conditions must hold. */
  readonly when: readonly CompiledCondition[]
}

const NONE: readonly string[] = []
const NO_VALUES: RequestValues = Object.freeze({ params: {}, query: '', header: () => undefined })

export type Denial = {
  readonly rejection: Rejection
  /** Whether the gateway logs the denial but does not apply it, because the policy has `enforce: report`. */
  readonly isAuditOnly: boolean
}

/** Data of a request that has matched a route, for the decision on access. */
export type AccessDecisionRequest = {
  readonly canonical: CanonicalRequest
  readonly params: Readonly<Record<string, string>>
  readonly resource: Pick<Resource, 'identifier' | 'issuers'>
  readonly possessionProof: PossessionProof
}

/** Decides whether a caller may access a route. Pure. @returns undefined if access is allowed. */
export function decideAccess(
  request: AccessDecisionRequest,
  caller: Caller | undefined,
  { access, policy }: { readonly access: AccessRule; readonly policy: { readonly enforce: EnforceRule } },
  nowSeconds: number,
): Denial | undefined {
  const { resource, possessionProof } = request
  const values = access.when.length === 0 ? undefined : requestValues(request)
  const rejection = checkAccess({ nowSeconds, resource, possessionProof, values }, caller, access)
  return rejection && { rejection, isAuditOnly: isAuditOnly(rejection, policy.enforce) }
}

/**
 * Rejects a request without a token before its route is known, if no possible route allows it. The challenge has the
 * scopes that all possible routes require.
 */
export function rejectAnonymous(
  routes: readonly { readonly access: AccessRule; readonly policy: { readonly enforce: EnforceRule } }[],
): Rejection | undefined {
  if (routes.some(({ access, policy }) => access.anonymous === 'allow' || policy.enforce === 'report'))
    return undefined
  const [first = NONE, ...others] = routes.map(({ access }) => access.scopes?.needed ?? NONE)
  return {
    rejected: 'token_missing',
    anonymous: routes.every(({ access }) => access.anonymous === 'challenge') ? 'challenge' : 'deny',
    needed: first.filter((scope) => others.every((needed) => needed.includes(scope))),
  }
}

/** Returns whether a denial is audit-only. The gateway always rejects an invalid token. */
function isAuditOnly({ rejected }: Rejection, enforce: EnforceRule): boolean {
  return enforce === 'report' && AUDITABLE.includes(rejected)
}

const AUDITABLE: readonly Rejection['rejected'][] = [
  'token_missing',
  'authentication_insufficient',
  'scope_missing',
  'condition_failed',
]

/**
 * Returns the values with which conditions can compare claims: forwarded headers, the query and the path parameters.
 */
export function requestValues({
  canonical,
  params,
}: Pick<AccessDecisionRequest, 'canonical' | 'params'>): RequestValues {
  return { params, query: canonical.query, header: (name) => canonical.headers.header(name) }
}

/**
 * Checks whether a caller satisfies the access rule of a route. The caller can come from the token cache, so each
 * request needs a new check of issuer, audience, expiry and scopes.
 * @returns undefined if access is allowed, or `token_missing`, `token_invalid`, `authentication_insufficient`,
 * `scope_missing` or `condition_failed`.
 */
export function checkAccess(
  request: AccessRequest,
  caller: Caller | undefined,
  rule: AccessRule,
): Rejection | undefined {
  if (caller === undefined) {
    if (rule.anonymous === 'allow') return undefined
    return { rejected: 'token_missing', anonymous: rule.anonymous, needed: rule.scopes?.needed ?? NONE }
  }
  const fault = checkToken(request, caller)
  if (fault !== undefined) return { rejected: 'token_invalid', fault }
  if (rule.authentication !== undefined) {
    const unmet = checkAuthentication(caller.claims, rule.authentication, request.nowSeconds)
    if (unmet !== undefined)
      return {
        rejected: 'authentication_insufficient',
        fault: unmet,
        rule: rule.authentication,
        needed: rule.scopes?.needed ?? NONE,
      }
  }
  const missing = rule.scopes === undefined ? NONE : missingScopes(caller.scopes, rule.scopes)
  if (missing.length > 0) return { rejected: 'scope_missing', needed: rule.scopes?.needed ?? NONE, missing }
  if (rule.when.length === 0) return undefined
  const failed = rule.when.find(({ holds }) => !holds(caller.claims, request.values ?? NO_VALUES))
  return failed && { rejected: 'condition_failed', condition: failed.text, source: failed.condition.source }
}

/** Checks issuer, validity period, binding and audience of a token, independent of the requirements of a route. */
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

/**
 * Returns the required scopes that a token lacks, in policy order. A token has a required scope if it contains this
 * scope or a scope that implies it. If the token has no scope of `any`, the result ends with the advertised scope of
 * `any`.
 */
export function missingScopes(
  held: ReadonlySet<string>,
  { all, any, advertised }: ScopeCheck,
): readonly string[] {
  const isHeld = ({ grantedBy }: ScopeNeed): boolean => grantedBy.some((scope) => held.has(scope))
  const missing = all.every(isHeld) ? NONE : all.filter((need) => !isHeld(need)).map(({ scope }) => scope)
  return advertised === undefined || any.some(isHeld) ? missing : [...missing, advertised]
}
