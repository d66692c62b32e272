import type { ScopeImplication } from '../../oauth/scope.ts'
import type { UnavailablePrefix } from '../load/load-policy-sources.ts'
import type { HeaderValue, PolicyRoute } from '../load/policy-route.ts'
import type { HeaderSource } from '../match/find-header.ts'
import { isBelowAnyFolded } from '../match/fold-path.ts'
import { type FreePages, findFreePages } from '../match/free-pages.ts'
import { isReservedPath, mayCoverReserved } from '../match/reserved-paths.ts'
import type { Resource, Resources } from '../match/resources.ts'
import { buildRouteTable, type Match } from '../match/route-table.ts'
import type { AccessRule } from './check-access.ts'
import { authenticationClaims } from './check-authentication.ts'
import { compileRewrite, type Rewrite } from './check-limits.ts'
import { compileCondition } from './compile-condition.ts'
import { compileHeaderEdit, type HeaderEdit } from './header-edit.ts'
import { type ClaimNames, type ClaimSelection, EMPTY_CLAIM_SELECTION, NO_NAMES } from './named-claims.ts'
import { compileScopeCheck } from './scope-check.ts'
import { EVERY_METHOD, type UnavailableMatch } from './select-route.ts'

/** Compiled route of a policy. Frozen. */
export type CompiledRoute = {
  readonly policy: PolicyRoute
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders: readonly HeaderValue[]
  readonly access: AccessRule
  /**
   * Returns the resource of a canonical path. All paths of the route have the same result, unless the template spans
   * several resources.
   */
  readonly resourceOf: (path: string) => Resource
  readonly claims: ClaimSelection
  /** Header changes of requests and responses. undefined: no changes. */
  readonly requestHeaders: HeaderEdit | undefined
  readonly responseHeaders: HeaderEdit | undefined
  /** Builds the upstream path. undefined: the upstream path is the matched path. */
  readonly rewrite: Rewrite | undefined
  /**
   * Returns whether the route excludes a path that its template matches. undefined: the route serves all matching
   * paths.
   */
  readonly excludes: PathExclusion | undefined
  /** Whether POST requests match by the MCP call in their body. */
  readonly readsMcpBody: boolean
}

export type PathExclusion = (path: string) => boolean

/** Compiled policies for use without a server, for example by `explain`, `test` and `diff`. */
export type CompiledPolicies = {
  /** The compiled routes, in the order of the policies. */
  readonly routes: readonly CompiledRoute[]
  /** Matches a request to a route. `path` must be canonical. Reserved paths of Scopegate result in `not_found`. */
  match(method: string, path: string, request?: HeaderSource): Match<CompiledRoute> | UnavailableMatch
  /** Returns the routes of a canonical path by method, independent of their required headers. */
  routesAt(path: string): ReadonlyMap<string, readonly CompiledRoute[]>
  /** Returns the routes of a path whose requests match by the MCP call in the body. undefined for other requests. */
  mcpRoutes(method: string, path: string): readonly (CompiledRoute | UnavailableRoute)[] | undefined
  /** The pages that the policies leave to the gateway. */
  readonly freePages: FreePages
  /** Names of the claims that policies refer to. The gateway reads no other claims for conditions. */
  readonly claimNames: ClaimNames
  /** Hash of `LoadedPolicies`. */
  readonly hash: string
}

export type CompileOptions = { readonly implication: ScopeImplication; readonly resources: Resources }

/**
 * Compiles policies to a route table. Pure.
 * @throws {Error} on routes that `loadPolicies()` rejects.
 */
export function compilePolicies(
  policies: {
    readonly routes: readonly PolicyRoute[]
    readonly hash: string
    /** Prefixes of policy sources without valid policies. Default: every policy source has valid policies. */
    readonly unavailable?: readonly UnavailablePrefix[] | undefined
  },
  options: CompileOptions,
): CompiledPolicies {
  const names = claimNamesOf(policies.routes)
  const routes = policies.routes.map((policy) => compileRoute(policy, { ...options, names }))
  const all = [...routes, ...(policies.unavailable ?? []).map(unavailableRoute)]
  const table = buildRouteTable<CompiledRoute | UnavailableRoute>(all)
  return Object.freeze({
    routes: Object.freeze(routes),
    claimNames: names,
    hash: policies.hash,
    match(method: string, path: string, request?: HeaderSource): Match<CompiledRoute> | UnavailableMatch {
      const match = table.match(method, path, request)
      if (match.kind !== 'route') return match
      return isCompiled(match.route) ? { ...match, route: match.route } : { kind: 'unavailable' }
    },
    routesAt: (path: string) =>
      new Map([...table.routesAt(path)].map(([method, all]) => [method, all.filter(isCompiled)])),
    mcpRoutes: table.mcpRoutes,
    freePages: findFreePages(all.map(({ path }) => path)),
  })
}

function isCompiled(route: CompiledRoute | UnavailableRoute): route is CompiledRoute {
  return 'policy' in route
}

/** Compiles one route. `names` are all claims that the routes of the same policies refer to. */
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
      authentication: policy.authentication,
      scopes: compileScopeCheck(policy.scopes, implication),
      when: Object.freeze(policy.when.map(compileCondition)),
    }),
    claims: wantedClaims(policy, names),
    resourceOf: resourceOf(policy.path, resources),
    requestHeaders: compileHeaderEdit(policy.headers, 'request'),
    responseHeaders: compileHeaderEdit(policy.headers, 'response'),
    rewrite: policy.rewritePath === undefined ? undefined : compileRewrite(policy.rewritePath),
    excludes: exclusionOf(policy.path, policy.excludedPrefixes ?? [], policy.sharesUpstream ?? false),
    readsMcpBody: policy.mcp !== undefined,
  })
}

/**
 * Returns the paths that a route does not serve although its template matches these paths. These are paths that are
 * reserved by Scopegate, and paths of other policy sources in all spellings that upstreams accept. Most templates match
 * no such path, so most routes need no comparison.
 */
function exclusionOf(
  template: string,
  excludedPrefixes: readonly string[],
  sharesUpstream: boolean,
): PathExclusion | undefined {
  const isWide = mayCoverReserved(template)
  if (excludedPrefixes.length === 0) return isWide ? isReservedPath : undefined
  const belongsToOthers = isBelowAnyFolded(excludedPrefixes, { suffixes: sharesUpstream })
  return isWide ? (path) => isReservedPath(path) || belongsToOthers(path) : belongsToOthers
}

/** A route for all paths of a policy source without valid policies. The route has no policy. */
export type UnavailableRoute = {
  readonly methods: readonly string[]
  readonly path: string
  readonly excludes: PathExclusion | undefined
}

/**
 * Returns the routes for the prefixes of sources without valid policies. The gateway responds 503 to requests on these
 * routes.
 */
export function unavailableRoute({ prefix, excludedPrefixes }: UnavailablePrefix): UnavailableRoute {
  const path = prefix === '/' ? '/**' : `${prefix}/**`
  return { methods: EVERY_METHOD, path, excludes: exclusionOf(path, excludedPrefixes, false) }
}

/**
 * Returns the sorted names of the claims that the routes need. Without such claims, returns the shared array
 * `NO_NAMES`.
 */
export function claimNamesOf(routes: readonly PolicyRoute[]): ClaimNames {
  const names = new Set(routes.flatMap(claimsOf))
  return names.size === 0 ? NO_NAMES : Object.freeze([...names].toSorted())
}

function wantedClaims(route: PolicyRoute, names: ClaimNames): ClaimSelection {
  if (names.length === 0) return EMPTY_CLAIM_SELECTION
  return Object.freeze({ needed: Object.freeze(claimsOf(route)), names })
}

function claimsOf({ authentication, when, sharedLimits = [] }: PolicyRoute): readonly string[] {
  return [
    ...authenticationClaims(authentication),
    ...when.map(({ claim }) => claim),
    ...sharedLimits.flatMap(({ claim, plans }) => [claim, plans?.claim].filter((name) => name !== undefined)),
  ]
}

/**
 * Returns a lookup of the resource by path. If the whole template lies in one resource, as most templates do, the
 * lookup ignores the path.
 */
function resourceOf(template: string, resources: Resources): (path: string) => Resource {
  const [first, ...others] = resources.ofTemplate(template)
  return first === undefined || others.length > 0 ? resources.of : () => first
}
