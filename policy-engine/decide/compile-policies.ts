import type { ScopeImplication } from '../../oauth/scope-implication.ts'
import type { HeaderValue } from '../load/header-rules.ts'
import type { PolicyRoute } from '../load/policy-route.ts'
import type { HeaderSource } from '../match/find-header.ts'
import { isReservedPath, mayCoverReserved } from '../match/reserved-paths.ts'
import type { Resource } from '../match/resource.ts'
import type { Resources } from '../match/resources.ts'
import { buildRouteTable, type Match } from '../match/route-table.ts'
import type { AccessRule } from './check-access.ts'
import { compileCondition } from './compile-condition.ts'
import { compileRewrite, type Rewrite } from './compile-rewrite.ts'
import { compileHeaderEdit, type HeaderEdit } from './header-edit.ts'
import { type ClaimNames, type ClaimSelection, EMPTY_CLAIM_SELECTION, NO_NAMES } from './named-claims.ts'
import { compileScopeCheck } from './scope-check.ts'

/** What decisions need of a policy's route, worked out once. Frozen. */
export type CompiledRoute = {
  readonly policy: PolicyRoute
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders: readonly HeaderValue[]
  /** What it asks of callers. */
  readonly access: AccessRule
  /** What a token must be for at a canonical path of the route: another one only where the template is wide. */
  readonly resourceOf: (path: string) => Resource
  /** Which claims of a token count. */
  readonly claims: ClaimSelection
  /** What becomes of headers on the way to the upstream and back; undefined: nothing. */
  readonly requestHeaders: HeaderEdit | undefined
  readonly responseHeaders: HeaderEdit | undefined
  /** undefined: the upstream is asked for the path that was matched. */
  readonly rewrite: Rewrite | undefined
  /** Whether its template is so wide that it meets paths of Scopegate's own; those it does not serve. */
  readonly isWide: boolean
}

/** What a set of policies means, without anybody who would serve it: what `explain`, `test` and `diff` ask. */
export type CompiledPolicies = {
  /** In the order of the policies. */
  readonly routes: readonly CompiledRoute[]
  /** `path` is canonical. What is Scopegate's own is not found. */
  match(method: string, path: string, request?: HeaderSource): Match<CompiledRoute>
  /** Returns the routes of a canonical path by their methods, whatever headers they require. */
  routesAt(path: string): ReadonlyMap<string, readonly CompiledRoute[]>
  /** The claims that policies name: those that a caller's are read by. */
  readonly claimNames: ClaimNames
  /** That of the policies. */
  readonly hash: string
}

/** What routes are compiled with, beside themselves. */
export type CompileOptions = { readonly implication: ScopeImplication; readonly resources: Resources }

/**
 * Compiles policies into the table that requests meet. Pure.
 * @throws {Error} on routes that `loadPolicies` would have refused.
 */
export function compilePolicies(
  policies: { readonly routes: readonly PolicyRoute[]; readonly hash: string },
  options: CompileOptions,
): CompiledPolicies {
  const names = claimNamesOf(policies.routes)
  const routes = policies.routes.map((policy) => compileRoute(policy, { ...options, names }))
  const table = buildRouteTable(routes)
  return Object.freeze({
    routes: Object.freeze(routes),
    claimNames: names,
    hash: policies.hash,
    match(method: string, path: string, request?: HeaderSource) {
      const match = table.match(method, path, request)
      return match.kind === 'route' && match.route.isWide && isReservedPath(path) ? NOT_FOUND : match
    },
    routesAt: table.routesAt,
  })
}

/** Compiles one route; `names` are the claims that all routes of the same policies name. */
export function compileRoute(
  policy: PolicyRoute,
  { implication, resources, names }: CompileOptions & { readonly names: ClaimNames },
): CompiledRoute {
  return Object.freeze({
    policy,
    methods: policy.methods,
    path: policy.path,
    matchHeaders: policy.matchHeaders,
    access: Object.freeze({
      anonymous: policy.anonymous,
      scopes: compileScopeCheck(policy.scopes, implication),
      when: Object.freeze(policy.when.map(compileCondition)),
    }),
    claims: wantedClaims(policy, names),
    resourceOf: resourceOf(policy.path, resources),
    requestHeaders: compileHeaderEdit(policy.headers, 'request'),
    responseHeaders: compileHeaderEdit(policy.headers, 'response'),
    rewrite: policy.rewritePath === undefined ? undefined : compileRewrite(policy.rewritePath),
    isWide: mayCoverReserved(policy.path),
  })
}

const NOT_FOUND = Object.freeze({ kind: 'not_found' as const })

/** The claims that conditions name, sorted; the same array where there are none. */
export function claimNamesOf(routes: readonly PolicyRoute[]): ClaimNames {
  const names = new Set(routes.flatMap(({ when }) => when.map(({ claim }) => claim)))
  return names.size === 0 ? NO_NAMES : Object.freeze([...names].toSorted())
}

function wantedClaims({ when }: PolicyRoute, names: ClaimNames): ClaimSelection {
  if (names.length === 0) return EMPTY_CLAIM_SELECTION
  return Object.freeze({ needed: Object.freeze(when.map(({ claim }) => claim)), names })
}

/** Most routes lie in one resource as a whole; only for the others is a path looked at. */
function resourceOf(template: string, resources: Resources): (path: string) => Resource {
  const [first, ...others] = resources.ofTemplate(template)
  return first === undefined || others.length > 0 ? resources.of : () => first
}
