import type { CompiledRoute } from '../../../policy-engine/decide/compile-policies.ts'
import type { Resource } from '../../../policy-engine/match/resources.ts'
import { compareConditions, type Met, type Overlap } from './compare-conditions.ts'
import { compareScopes, SAME, type Shift } from './compare-scopes.ts'
import type { RepresentativeRequest } from './representative-requests.ts'

/** The callers that gain or lose access: in total, and by each rule alone. */
export type AccessShift = Shift & {
  readonly scopes: Shift
  readonly when: Shift
  readonly anonymous: Shift
  readonly audience: Shift
  /** True when there were too many combinations to try. */
  readonly areConditionsAsWritten: boolean
}

/**
 * Compares the sets of callers that two routes allow. An audit-only route allows a denied caller, but still rejects an
 * invalid token.
 */
export function compareAccess(
  old: Met,
  now: Met,
  request: RepresentativeRequest,
  meet: (path: string) => readonly [Met, Met] | undefined,
): AccessShift {
  const scopes = compareScopes(scopesOf(old.route), scopesOf(now.route))
  const overlap: Overlap = compareConditions(old, now, request, meet)
  const when = { gains: overlap.nowOnly, loses: overlap.oldOnly }
  const [before, after] = [isOpen(old.route), isOpen(now.route)]
  const anonymous = { gains: after && !before, loses: before && !after }
  const audience = compareResources(old.route.resourceOf(request.path), now.route.resourceOf(request.path))
  const tokens = (side: keyof Shift) => when[side] || (overlap.both && (scopes[side] || audience[side]))
  return {
    gains: anonymous.gains || tokens('gains'),
    loses: anonymous.loses || tokens('loses'),
    scopes,
    when,
    anonymous,
    audience,
    areConditionsAsWritten: overlap.asWritten === true,
  }
}

function scopesOf({ policy, access }: CompiledRoute) {
  return policy.enforce === 'report' ? undefined : access.scopes
}

function isOpen({ policy }: CompiledRoute): boolean {
  return policy.enforce === 'report' || policy.anonymous === 'allow'
}

/**
 * Compares audiences. A token must be for the resource and from one of its issuers. Two environments have different
 * resource identifiers, so resources with the same path count as the same part of the API.
 */
function compareResources(old: Resource, now: Resource): Shift {
  if (old.path !== now.path) return { gains: true, loses: true }
  if (old.identifier !== now.identifier) return SAME
  const [before, after] = [new Set(old.issuers), new Set(now.issuers)]
  return { gains: !after.isSubsetOf(before), loses: !before.isSubsetOf(after) }
}
