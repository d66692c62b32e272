import { describeScopes, describeService } from '../../../policy-engine/decide/describe-route.ts'
import {
  describeCorsList,
  describeMcp,
  formatAuthentication,
} from '../../../policy-engine/decide/describe-rules.ts'
import { allowsMethod, type CorsRule } from '../../../policy-engine/load/policy-route.ts'
import { type AccessShift, compareAccess, SAME, type Shift } from './compare-access.ts'
import type { MatchedRoute } from './compare-conditions.ts'
import type { RepresentativeRequest } from './representative-requests.ts'

/** One difference of a route as text, and the effect of this difference alone on access. */
export type Detail = Shift & {
  readonly what: string
  readonly old: string
  readonly now: string
  /**
   * Set if the command compared the conditions as text, because the conditions have too many combinations. The effect
   * can then be wrong.
   */
  readonly asWritten?: true
}

/** Differences between the old and the new route of a request. Without details, nothing changes for callers. */
export type RouteDifference = Shift & { readonly details: readonly Detail[] }

export function compareRoutes(
  old: MatchedRoute,
  now: MatchedRoute,
  request: RepresentativeRequest,
  findRoutes: (path: string) => readonly [MatchedRoute, MatchedRoute] | undefined,
): RouteDifference {
  const access = compareAccess(old, now, request, findRoutes)
  const details = [
    ...accessDetails(old, now, access, request),
    ...serviceDetails(old, now),
    ...upstreamPath(old, now, request),
  ]
  const messages = request.method === 'POST' ? compareMcp(old, now) : []
  const cors = compareCors(old.route.policy.cors, now.route.policy.cors, request.method)
  const isReported = (side: keyof Shift) => !access[side] || details.some((one) => one[side])
  const together =
    isReported('gains') && isReported('loses')
      ? []
      : [{ what: 'callers', old: 'listed above', now: 'different', ...pick(access) }]
  return {
    gains: access.gains || [...messages, ...cors].some((one) => one.gains),
    loses: access.loses || [...messages, ...cors].some((one) => one.loses),
    details: [...details, ...together, ...messages, ...cors],
  }
}

function accessDetails(
  { route: old }: MatchedRoute,
  { route: now }: MatchedRoute,
  access: AccessShift,
  request: RepresentativeRequest,
): readonly Detail[] {
  const details: Detail[] = []
  const isAuditOnly = old.policy.enforce === 'report' || now.policy.enforce === 'report'
  const detailOf = (what: string, before: string, after: string, shift: Shift): Detail => ({
    what,
    old: before,
    now: after,
    ...(isAuditOnly && what !== 'audience' ? SAME : pick(shift)),
  })
  const say = (...args: Parameters<typeof detailOf>) => details.push(detailOf(...args))

  if (old.policy.enforce !== now.policy.enforce)
    details.push({ what: 'enforce', old: old.policy.enforce, now: now.policy.enforce, ...pick(access) })
  const [before, after] = [old, now].map((one) => describeScopes(one.access.scopes)) as [string, string]
  if (access.scopes.gains || access.scopes.loses) {
    if (before !== after) say('scopes', before, after, access.scopes)
    else if (!isAuditOnly)
      say(
        'scopes',
        describeScopes(old.access.scopes, true),
        describeScopes(now.access.scopes, true),
        access.scopes,
      )
  } else if (neededText(old) !== neededText(now)) say('advertised', neededText(old), neededText(now), SAME)
  const [signIn, signInNow] = [old, now].map(authenticationText) as [string, string]
  if (signIn !== signInNow) say('sign-in', signIn, signInNow, access.authentication)
  if (access.when.gains || access.when.loses)
    details.push({
      ...detailOf('when', conditionsOf(old), conditionsOf(now), access.when),
      ...(access.areConditionsAsWritten ? { asWritten: true } : {}),
    })
  if (old.policy.anonymous !== now.policy.anonymous)
    say('anonymous', old.policy.anonymous, now.policy.anonymous, access.anonymous)
  if (access.audience.gains || access.audience.loses)
    say('audience', audienceOf(old, request.path), audienceOf(now, request.path), access.audience)
  return details
}

function pick({ gains, loses }: Shift): Shift {
  return { gains, loses }
}

function authenticationText({ policy }: MatchedRoute['route']): string {
  return policy.authentication === undefined ? 'none' : formatAuthentication(policy.authentication)
}

function conditionsOf({ access }: MatchedRoute['route']): string {
  return access.when.length === 0 ? 'none' : access.when.map(({ text }) => text).join(' and ')
}

/** Returns the scopes that a challenge requests. */
function neededText({ access }: MatchedRoute['route']): string {
  const needed = access.scopes?.needed ?? []
  return needed.length === 0 ? 'none' : needed.toSorted().join(', ')
}

function audienceOf({ resourceOf }: MatchedRoute['route'], path: string): string {
  const { identifier, issuers } = resourceOf(path)
  return `${identifier} of ${issuers.join(', ')}`
}

function serviceDetails({ route: old }: MatchedRoute, { route: now }: MatchedRoute): readonly Detail[] {
  const [before, after] = [describeService(old), describeService(now)]
  return Object.entries(before).flatMap(([what, text]) =>
    text === after[what] ? [] : [{ what, old: text, now: after[what] ?? '', ...SAME }],
  )
}

/** Compares the resulting upstream paths, because the old and the new template can have different parameter names. */
function upstreamPath(
  old: MatchedRoute,
  now: MatchedRoute,
  { path }: RepresentativeRequest,
): readonly Detail[] {
  const [before, after] = [old, now].map(({ route, params }) => route.rewrite?.(params) ?? path)
  if (before === after || before === undefined || after === undefined) return []
  const [one, other] = [old, now].map(({ route }) => route.policy.rewritePath ?? 'unchanged') as [
    string,
    string,
  ]
  const isRewriteChanged = one !== other
  return [
    { what: 'rewrite', old: isRewriteChanged ? one : before, now: isRewriteChanged ? other : after, ...SAME },
  ]
}

/**
 * Compares the handling of MCP messages. A route that reads the body rejects requests whose body is not an MCP message or
 * differs from the headers.
 */
function compareMcp(
  { route: { policy: old } }: MatchedRoute,
  { route: { policy: now } }: MatchedRoute,
): readonly Detail[] {
  const [before, after] = [describeMcp(old), describeMcp(now)]
  if (before === after) return []
  return [
    { what: 'mcp', old: before, now: after, gains: now.mcp === undefined, loses: old.mcp === undefined },
  ]
}

/**
 * Compares the pages that are allowed to call a route with a method. Returns a detail for each key of `cors` that
 * differs. An additional method, origin or header widens the route.
 */
function compareCors(
  old: CorsRule | undefined,
  now: CorsRule | undefined,
  method: string,
): readonly Detail[] {
  const [before, after] = [allowsMethod(old, method), allowsMethod(now, method)]
  const compared: readonly (readonly [key: keyof CorsRule, shift: Shift])[] = [
    ['origins', compareLists(old?.origins, now?.origins)],
    ['methods', { gains: after && !before, loses: before && !after }],
    ['headers', compareLists(old?.headers, now?.headers)],
  ]
  return compared.flatMap(([key, shift]) => {
    const [one, other] = [old?.[key], now?.[key]].map((list) => describeCorsList(list?.toSorted())) as [
      string,
      string,
    ]
    return one === other ? [] : [{ what: `cors ${key}`, old: one, now: other, ...shift }]
  })
}

/** An undefined list allows everything. */
function compareLists(old: readonly string[] | undefined, now: readonly string[] | undefined): Shift {
  return { gains: !isWithin(now, old), loses: !isWithin(old, now) }
}

function isWithin(inner: readonly string[] | undefined, outer: readonly string[] | undefined): boolean {
  return outer === undefined || inner?.every((one) => outer.includes(one)) === true
}
