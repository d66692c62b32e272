import type { CompiledPolicies, CompiledRoute } from '../../../policy-engine/decide/compile-policies.ts'
import { parsePathTemplate } from '../../../policy-engine/match/path-template.ts'
import { compareCounting, type Successor } from './compare-counting.ts'
import { compareRoutes, type Detail } from './compare-routes.ts'
import { intersectTemplates, writeTemplate } from './overlapping-templates.ts'
import { type RepresentativeRequest, representativeRequests } from './representative-requests.ts'

export type DiffSide = {
  readonly policies: Pick<CompiledPolicies, 'match' | 'routes'>
  /** Paths of resources, without the resource for the whole API. */
  readonly resourcePaths: readonly string[]
}

/**
 * A change for callers of one route. If another route replaces a part of the route: a change for callers of that part.
 */
export type Change = {
  readonly kind: 'changed' | 'new' | 'gone'
  readonly old: string | undefined
  readonly now: string | undefined
  readonly methods: readonly string[]
  /**
   * The policy source and the owner of the new route. If only the old side has a route, the policy source and the owner
   * of the old route. Absent without a value.
   */
  readonly source?: string
  readonly owner?: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /**
   * Statuses of requests without a route on the old or the new side: 404, 405 or 503. 503: the policy source has no
   * valid policies.
   */
  readonly statuses: readonly (404 | 405 | 503)[]
  /** `widened`: a denied request is now allowed. `narrowed`: an allowed request is now denied. */
  readonly widened: boolean
  readonly narrowed: boolean
  readonly details: readonly Detail[]
  readonly example: { readonly method: string; readonly path: string }
  /** True when the change does not affect all requests of the same route and method. */
  readonly partly: boolean
}

export type PolicyDiff = {
  readonly changes: readonly Change[]
  readonly renamed: readonly { readonly old: string; readonly now: string }[]
}

type Group = {
  -readonly [key in keyof Omit<Change, 'methods' | 'statuses' | 'details' | 'partly'>]: Change[key]
} & {
  readonly methods: Set<string>
  readonly statuses: Set<404 | 405 | 503>
  readonly details: Map<string, Detail>
  readonly outcomes: Set<string>
}

/**
 * Compares the effect of two sets of policies on callers. Decides representative requests with both sides. Ignores
 * names of routes and parameters, the order of files, and how rules are split over routes.
 */
export function comparePolicies(old: DiffSide, now: DiffSide): PolicyDiff {
  const requests = representativeRequests(
    old.policies.routes.map(matchingOf),
    now.policies.routes.map(matchingOf),
    [...new Set([...old.resourcePaths, ...now.resourcePaths])],
  )
  const matched = requests.map((request) => {
    const [before, after] = [old, now].map(({ policies }) => find(policies, request)) as [Found, Found]
    return { request, before, after }
  })
  const counting = compareCounting(
    matched.flatMap(({ before, after }): readonly Successor[] =>
      before.kind === 'route' && after.kind === 'route' ? [[before.route, after.route]] : [],
    ),
  )
  const groups = new Map<string, Group>()
  const renamed = new Map<string, { old: string; now: string }>()
  /** Outcomes per route and method. More than one outcome means that the change affects only a part of the requests. */
  const outcomes = new Map<string, Set<string>>()

  for (const { request, before, after } of matched) {
    if (before.kind !== 'route' && after.kind !== 'route') continue
    if (request.method === 'HEAD' && followsGet(request, before, after)) continue
    const change = compareFound(before, after, request)
    const names = [nameOf(before), nameOf(after)]
    const key = names.join(' ')
    for (const [side, name] of names.entries())
      if (name !== undefined) {
        const outcome = `${side} ${name} ${request.method}`
        outcomes.set(outcome, (outcomes.get(outcome) ?? new Set()).add(change === undefined ? 'same' : key))
      }
    if (change === undefined) {
      if (names[0] !== names[1]) renamed.set(key, { old: names[0] ?? '', now: names[1] ?? '' })
      continue
    }
    const group = groups.get(key) ?? newGroup(before, after, request)
    groups.set(key, group)
    group.methods.add(request.method)
    for (const [side, name] of names.entries())
      if (name !== undefined) group.outcomes.add(`${side} ${name} ${request.method}`)
    if (change.status !== undefined) group.statuses.add(change.status)
    for (const detail of change.details) addDetail(group.details, detail)
    group.widened ||= change.gains
    group.narrowed ||= change.loses
  }
  return {
    changes: [...groups.values()].map(({ outcomes: own, methods, statuses, details, ...rest }) => ({
      ...rest,
      methods: [...methods],
      statuses: [...statuses].toSorted(),
      details: [...details.values()],
      partly: [...own].some((outcome) => (outcomes.get(outcome)?.size ?? 0) > 1),
    })),
    renamed: [...renamed.values()],
  }

  /** Returns true when HEAD matches the same routes as GET, so that a separate report is unnecessary. */
  function followsGet(request: RepresentativeRequest, before: Found, after: Found): boolean {
    const get = { ...request, method: 'GET' }
    return (
      nameOf(find(old.policies, get)) === nameOf(before) && nameOf(find(now.policies, get)) === nameOf(after)
    )
  }

  function compareFound(before: Found, after: Found, request: RepresentativeRequest) {
    if (before.kind !== 'route' || after.kind !== 'route') {
      const missing = before.kind !== 'route' ? before : after
      const status = STATUSES[missing.kind === 'route' ? 'not_found' : missing.kind]
      return { status, details: [], gains: false, loses: false }
    }
    const difference = compareRoutes(before, after, request, (path) => {
      const [one, other] = [old, now].map(({ policies }) => find(policies, { ...request, path })) as [
        Found,
        Found,
      ]
      const isSame = nameOf(one) === nameOf(before) && nameOf(other) === nameOf(after)
      return isSame && one.kind === 'route' && other.kind === 'route' ? [one, other] : undefined
    })
    const counted = counting(before.route, after.route)
    const details = counted === undefined ? difference.details : [...difference.details, counted]
    return details.length === 0 ? undefined : { ...difference, details, status: undefined }
  }
}

const STATUSES = { not_found: 404, method_not_allowed: 405, unavailable: 503 } as const

type Found = ReturnType<CompiledPolicies['match']>

function matchingOf({ policy }: CompiledRoute) {
  return policy
}

function find(policies: DiffSide['policies'], { method, path, headers }: RepresentativeRequest): Found {
  const values = new Map(headers.map(({ name, value }) => [name, value]))
  return policies.match(method, path, { header: (name) => values.get(name) })
}

function nameOf(found: Found): string | undefined {
  return found.kind === 'route' ? found.route.policy.name : undefined
}

function newGroup(before: Found, after: Found, request: RepresentativeRequest): Group {
  const routes = [after, before].flatMap((one) => (one.kind === 'route' ? [one.route.policy] : []))
  const [first, second] = routes.map(({ path }) => parsePathTemplate(path))
  const path =
    first !== undefined && second !== undefined && !('problem' in first) && !('problem' in second)
      ? intersectTemplates(first, second)
      : undefined
  const [shown] = routes
  return {
    ...(shown?.policySource === undefined ? {} : { source: shown.policySource }),
    ...(shown?.policySource === undefined || shown.owner === undefined ? {} : { owner: shown.owner }),
    kind: before.kind !== 'route' ? 'new' : after.kind !== 'route' ? 'gone' : 'changed',
    old: nameOf(before),
    now: nameOf(after),
    path: path === undefined ? (routes[0]?.path ?? request.path) : writeTemplate(path),
    headers: Object.fromEntries(
      routes.flatMap((one) => one.matchHeaders.map(({ name, value }) => [name, value])),
    ),
    widened: false,
    narrowed: false,
    example: { method: request.method, path: request.path },
    methods: new Set(),
    statuses: new Set(),
    details: new Map(),
    outcomes: new Set(),
  }
}

function addDetail(details: Map<string, Detail>, detail: Detail): void {
  const known = details.get(detail.what)
  details.set(
    detail.what,
    known === undefined
      ? detail
      : {
          ...known,
          gains: known.gains || detail.gains,
          loses: known.loses || detail.loses,
          ...(known.asWritten === true || detail.asWritten === true ? { asWritten: true } : {}),
        },
  )
}
