import FindMyWay, { type HTTPMethod } from 'find-my-way'
import { runSync, type Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { HeaderValue } from '../load/policy-route.ts'
import type { HeaderSource } from './find-header.ts'
import {
  type Candidate,
  chooseByHeaders,
  compileHeaderChoice,
  entriesOf,
  type HeaderChoice,
} from './header-choice.ts'
import { type PathTemplate, readPathTemplate, shapeOf } from './path-template.ts'

/** Result of matching a request. `params` has no prototype. Its key `**` contains the text that `**` matched. */
export type Match<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'not_found' }

/** An immutable table of routes. */
export type RouteTable<T> = {
  /**
   * Matches a request. `path` must be canonical, and is not decoded again. Case and a trailing slash are significant.
   * @param request headers of the request. Default: no headers.
   */
  match(method: string, path: string, request?: HeaderSource): Match<T>
  /** Returns the routes of a canonical path by method, independent of their required headers. */
  routesAt(path: string): ReadonlyMap<string, readonly T[]>
  /**
   * Returns the routes of a path if the gateway must read the MCP call from the body before it matches the request.
   * undefined for all other requests.
   */
  mcpRoutes(method: string, path: string): readonly T[] | undefined
}

/** Route for the table. `matchHeaders` are required headers. Without `matchHeaders`, a request may have any headers. */
export type Routable = {
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders?: readonly HeaderValue[]
  /**
   * Returns whether the route excludes a path that its template matches. Default: the route serves all these paths.
   */
  readonly excludes?: ((path: string) => boolean) | undefined
  /** Whether POST requests match by the MCP call in their body. Default: no. */
  readonly readsMcpBody?: boolean
}

type Entry<T> = { readonly route: T; readonly names: readonly string[] }

/** Routes of one method and path: one route, or several routes with different required headers. */
type PathEntry<T> = {
  readonly only: Entry<T> | undefined
  readonly choice: HeaderChoice<Entry<T>> | undefined
  readonly excludes: Routable['excludes']
  /** All routes of the entry, if one of them reads the body. */
  readonly mcpRoutes: readonly T[] | undefined
}

const NOT_FOUND = Object.freeze({ kind: 'not_found' as const })
const NO_HEADERS: HeaderSource = Object.freeze({ header: () => undefined })
/** Number of routes in one step. A step takes some hundred microseconds. */
const STEP_ROUTES = 32
/** Only POST requests contain MCP messages. */
const MCP_METHOD = 'POST'
const MAX_PARAMETER_LENGTH = 1_048_576 // safe upper bound, because request targets have a much lower limit

/**
 * Builds the table that matches requests to routes. The order of `routes` does not affect the result.
 * A route matches if its path and its methods match. Among these routes, the most specific path wins. Paths are
 * compared segment by segment from the left: literal before `{parameter}` before `**`. For example, `GET /a/{x}` does
 * not hide `POST /a/**`.
 * Several routes can have the most specific path. Among these, the route wins whose required headers the request
 * contains. If the headers match several routes, the route with the most headers wins. If the headers do not match any
 * route, the result is `not_found`, even if a wider path would match.
 * If only routes with other methods match a path, the result is `method_not_allowed`. A route does not match the paths
 * that it excludes. HEAD matches GET routes unless a route of the same shape lists HEAD.
 * @throws {Error} on a malformed template, an unknown method, or two routes with the same shape, method and headers.
 * `loadPolicies()` reports these problems earlier, with their locations.
 */
export function buildRouteTable<T extends Routable>(routes: readonly T[]): RouteTable<T> {
  return runSync(buildRouteTableSliced(routes))
}

/** Runs `buildRouteTable()` in steps of `STEP_ROUTES` routes, so that other work can run between two steps. */
export function* buildRouteTableSliced<T extends Routable>(routes: readonly T[]): Steps<RouteTable<T>> {
  const groups = yield* groupRoutes(routes)
  const router = FindMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: false,
    maxParamLength: MAX_PARAMETER_LENGTH,
  })
  const methods = new Set<string>()
  let placed = 0
  let readsBodies = false
  for (const { method, template, candidates } of groups.values()) {
    if (placed++ % STEP_ROUTES === 0) yield
    const pathEntry = toPathEntry(method, candidates)
    readsBodies ||= pathEntry.mcpRoutes !== undefined
    methods.add(method)
    router.on(method as HTTPMethod, routerPath(template), () => undefined, pathEntry)
    // `**` also matches the path before it, unless another route has exactly this path.
    const base = { ...template, below: false }
    if (template.below && base.segments.length > 0 && !groups.has(groupKey(method, base))) {
      router.on(method as HTTPMethod, routerPath(base), () => undefined, pathEntry)
    }
  }
  // If no route lists HEAD, HEAD uses the entries of GET.
  const isHeadGet = methods.has('GET') && !methods.has('HEAD')
  if (isHeadGet) methods.add('HEAD')
  const known = [...methods].toSorted()
  /**
   * Finds the routes of a path. Returns null if the most specific route excludes the path. `key` is the path in the
   * encoding of `protect()`.
   */
  const find = (method: string, path: string, key: string) => {
    const found = router.find((isHeadGet && method === 'HEAD' ? 'GET' : method) as HTTPMethod, key)
    return found !== null && (found.store as PathEntry<T>).excludes?.(path) === true ? null : found
  }
  return Object.freeze({
    match(method: string, path: string, request: HeaderSource = NO_HEADERS): Match<T> {
      if (!path.startsWith('/')) return NOT_FOUND
      const key = protect(path)
      if (methods.has(method)) {
        const found = find(method, path, key)
        if (found !== null) {
          const { only, choice } = found.store as PathEntry<T>
          const entry = choice === undefined ? only : chooseByHeaders(choice, request)
          return entry === undefined ? NOT_FOUND : toMatch(entry, found.params)
        }
      }
      const allow = known.filter((other) => other !== method && find(other, path, key) !== null)
      return allow.length === 0 ? NOT_FOUND : { kind: 'method_not_allowed', allow }
    },
    routesAt(path: string): ReadonlyMap<string, readonly T[]> {
      const found = new Map<string, readonly T[]>()
      if (!path.startsWith('/')) return found
      const key = protect(path)
      for (const method of known) {
        const pathEntry = find(method, path, key)?.store as PathEntry<T> | undefined
        if (pathEntry !== undefined)
          found.set(
            method,
            entriesAt(pathEntry).map(({ route }) => route),
          )
      }
      return found
    },
    mcpRoutes(method: string, path: string): readonly T[] | undefined {
      if (!readsBodies || !path.startsWith('/')) return undefined
      return (find(method, path, protect(path))?.store as PathEntry<T> | undefined)?.mcpRoutes
    },
  })
}

type Group<T> = {
  readonly method: string
  readonly template: PathTemplate
  readonly candidates: Candidate<Entry<T>>[]
}

/** Groups routes by method and shape. HEAD has groups only if a route lists HEAD. */
function* groupRoutes<T extends Routable>(routes: readonly T[]): Steps<ReadonlyMap<string, Group<T>>> {
  const parsed: { readonly route: T; readonly template: PathTemplate }[] = []
  for (const route of routes) {
    if (parsed.length % STEP_ROUTES === 0) yield
    parsed.push({ route, template: readPathTemplate(route.path) })
  }
  const withOwnHead = new Set(
    parsed.flatMap(({ route, template }) => (route.methods.includes('HEAD') ? [shapeOf(template)] : [])),
  )
  const groups = new Map<string, Group<T>>()
  for (const [index, { route, template }] of parsed.entries()) {
    if (index % STEP_ROUTES === 0) yield
    const names = template.segments.flatMap((one) => ('parameter' in one ? [one.parameter] : []))
    const candidate = { headers: route.matchHeaders ?? [], route: { route, names } }
    // RFC 9110 section 9.3.2: HEAD is GET without content.
    const follows =
      withOwnHead.size > 0 && route.methods.includes('GET') && !withOwnHead.has(shapeOf(template))
    for (const method of follows ? [...route.methods, 'HEAD'] : route.methods) {
      const key = groupKey(method, template)
      const group = groups.get(key)
      if (group === undefined) groups.set(key, { method, template, candidates: [candidate] })
      else group.candidates.push(candidate)
    }
  }
  return groups
}

function groupKey(method: string, template: PathTemplate): string {
  return `${method} ${shapeOf(template)}`
}

function toPathEntry<T extends Routable>(
  method: string,
  candidates: readonly Candidate<Entry<T>>[],
): PathEntry<T> {
  const [first] = candidates
  const excludes = first?.route.route.excludes // all candidates have the same path template
  const routes = candidates.map(({ route }) => route.route)
  const readsBody = method === MCP_METHOD && routes.some(({ readsMcpBody }) => readsMcpBody === true)
  const mcpRoutes = readsBody ? routes : undefined
  return candidates.length === 1 && first?.headers.length === 0
    ? { only: first.route, choice: undefined, excludes, mcpRoutes }
    : { only: undefined, choice: compileHeaderChoice(candidates), excludes, mcpRoutes }
}

function entriesAt<T>({ only, choice }: PathEntry<T>): readonly Entry<T>[] {
  if (choice !== undefined) return entriesOf(choice)
  return only === undefined ? [] : [only]
}

/**
 * Converts a template to the notation of the router.
 * A parameter matches one segment that is not empty. The explicit pattern of a parameter lets the router continue with
 * a `**` route if the segment is empty. A literal `:` is doubled.
 */
function routerPath(template: PathTemplate): string {
  let parameters = 0
  const segments = template.segments.map((one) =>
    'parameter' in one ? `/:p${parameters++}([^/]+)` : `/${one.literal.replaceAll(':', '::')}`,
  )
  return `${segments.join('')}${template.below ? '/*' : ''}`
}

/** Encodes the three special characters of the router, because the router decodes its input. */
function protect(path: string): string {
  return /[%?#]/.test(path) ? path.replace(/[%?#]/g, encodeURIComponent) : path
}

function toMatch<T>(entry: Entry<T>, found: { readonly [name: string]: string | undefined }): Match<T> {
  const params: Record<string, string> = Object.create(null)
  for (const [index, name] of entry.names.entries()) params[name] = found[`p${index}`] ?? ''
  if (found['*'] !== undefined) params['**'] = found['*']
  return { kind: 'route', route: entry.route, params }
}
