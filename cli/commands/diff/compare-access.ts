import type { CompiledRoute } from '../../../policy-engine/decide/compile-policies.ts'
import type { ScopeCheck } from '../../../policy-engine/decide/scope-check.ts'
import type { AuthenticationRule } from '../../../policy-engine/load/policy-route.ts'
import type { Resource } from '../../../policy-engine/match/resources.ts'
import { compareConditions, type MatchedRoute, type Overlap } from './compare-conditions.ts'
import type { RepresentativeRequest } from './representative-requests.ts'

/** The callers that gain or lose access: in total, and by each rule alone. */
export type AccessShift = Shift & {
  readonly scopes: Shift
  readonly authentication: Shift
  readonly when: Shift
  readonly anonymous: Shift
  readonly audience: Shift
  /** True if the conditions have too many combinations to try all combinations. */
  readonly areConditionsAsWritten: boolean
}

/**
 * Compares the sets of callers that two routes allow. An audit-only route allows a denied caller, but still rejects an
 * invalid token.
 */
export function compareAccess(
  old: MatchedRoute,
  now: MatchedRoute,
  request: RepresentativeRequest,
  findRoutes: (path: string) => readonly [MatchedRoute, MatchedRoute] | undefined,
): AccessShift {
  const scopes = compareScopes(scopesOf(old.route), scopesOf(now.route))
  const authentication = compareAuthentication(authenticationOf(old.route), authenticationOf(now.route))
  const overlap: Overlap = compareConditions(old, now, request, findRoutes)
  const when = { gains: overlap.nowOnly, loses: overlap.oldOnly }
  const [before, after] = [isOpen(old.route), isOpen(now.route)]
  const anonymous = { gains: after && !before, loses: before && !after }
  const audience = compareResources(old.route.resourceOf(request.path), now.route.resourceOf(request.path))
  const tokens = (side: keyof Shift) =>
    when[side] || (overlap.both && (scopes[side] || authentication[side] || audience[side]))
  return {
    gains: anonymous.gains || tokens('gains'),
    loses: anonymous.loses || tokens('loses'),
    scopes,
    authentication,
    when,
    anonymous,
    audience,
    areConditionsAsWritten: overlap.asWritten === true,
  }
}

function scopesOf({ policy, access }: CompiledRoute) {
  return policy.enforce === 'report' ? undefined : access.scopes
}

function authenticationOf({ policy }: CompiledRoute): AuthenticationRule | undefined {
  return policy.enforce === 'report' ? undefined : policy.authentication
}

/** Compares the sets of sign-ins that two rules accept. The result is exact. */
export function compareAuthentication(
  old: AuthenticationRule | undefined,
  now: AuthenticationRule | undefined,
): Shift {
  return { gains: !acceptsAll(old, now), loses: !acceptsAll(now, old) }
}

/** Returns true when `rule` accepts every sign-in that `other` accepts. */
function acceptsAll(rule: AuthenticationRule | undefined, other: AuthenticationRule | undefined): boolean {
  const { acr = [], maxAgeSeconds = Number.POSITIVE_INFINITY } = rule ?? {}
  const otherAcr = other?.acr ?? []
  const acceptsClasses =
    acr.length === 0 || (otherAcr.length > 0 && otherAcr.every((one) => acr.includes(one)))
  return acceptsClasses && (other?.maxAgeSeconds ?? Number.POSITIVE_INFINITY) <= maxAgeSeconds
}

function isOpen({ policy }: CompiledRoute): boolean {
  return policy.enforce === 'report' || policy.anonymous === 'allow'
}

/**
 * Compares audiences. A token must name the resource as its audience and come from an issuer of the resource. Two
 * environments have different resource identifiers, so resources with the same path count as the same part of the API.
 */
function compareResources(old: Resource, now: Resource): Shift {
  if (old.path !== now.path) return { gains: true, loses: true }
  if (old.identifier !== now.identifier) return SAME
  const [before, after] = [new Set(old.issuers), new Set(now.issuers)]
  return { gains: !after.isSubsetOf(before), loses: !before.isSubsetOf(after) }
}

/**
 * Direction of a change in a set of callers. If some callers gain access and other callers lose access, both values are
 * true.
 */
export type Shift = { readonly gains: boolean; readonly loses: boolean }

export const SAME: Shift = { gains: false, loses: false }

/** A scope rule as lists of scopes. A token needs at least one scope of each list. */
type Clauses = readonly ReadonlySet<string>[]

/**
 * Compares the sets of scopes that two rules accept. The result is exact: rule A is stricter than rule B if each list
 * of B contains a complete list of A.
 */
export function compareScopes(old: ScopeCheck | undefined, now: ScopeCheck | undefined): Shift {
  const [before, after] = [toClauses(old), toClauses(now)]
  return { gains: !isWithin(after, before), loses: !isWithin(before, after) }
}

function toClauses(check: ScopeCheck | undefined): Clauses {
  if (check === undefined) return []
  const all = check.all.map(({ grantedBy }) => new Set(grantedBy))
  const any = new Set(check.any.flatMap(({ grantedBy }) => grantedBy))
  return check.any.length === 0 ? all : [...all, any]
}

/**
 * Returns true when every token that satisfies `inner` also satisfies `outer`. For this, each outer list must contain a
 * complete inner list. If an outer list contains no complete inner list, a token without the scopes of this outer list
 * can satisfy `inner`.
 */
function isWithin(inner: Clauses, outer: Clauses): boolean {
  return outer.every((wanted) => inner.some((list) => list.isSubsetOf(wanted)))
}
