import FindMyWay, { type HTTPMethod } from 'find-my-way'
import { runSync, type Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { HeaderValue } from '../load/header-rules.ts'
import type { HeaderSource } from './find-header.ts'
import {
  type Candidate,
  chooseByHeaders,
  compileHeaderChoice,
  entriesOf,
  type HeaderChoice,
} from './header-choice.ts'
import { type PathTemplate, parsePathTemplate, shapeOf } from './path-template.ts'

/** What a request meets. `params` has no prototype; what `**` stands for is under the name `**`. */
export type Match<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'not_found' }

/** An immutable table of routes. */
export type RouteTable<T> = {
  /**
   * `path` is canonical; it is never decoded again. Case and a trailing slash are significant.
   * @param request its headers; unless given, it has none.
   */
  match(method: string, path: string, request?: HeaderSource): Match<T>
  /** Returns the routes of a canonical path by their methods, whatever headers they require. */
  routesAt(path: string): ReadonlyMap<string, readonly T[]>
}

/** What a table is built from. `matchHeaders` are those that a request has to bring; without them it may bring any. */
export type Routable = {
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders?: readonly HeaderValue[]
}

/** A route, and the names of its parameters in order. */
type Entry<T> = { readonly route: T; readonly names: readonly string[] }

/** What lies behind one method and path: one route, or those that headers tell apart. */
type Place<T> = { readonly only: Entry<T> | undefined; readonly choice: HeaderChoice<Entry<T>> | undefined }

const NOT_FOUND = Object.freeze({ kind: 'not_found' as const })
const NO_HEADERS: HeaderSource = Object.freeze({ header: () => undefined })
/** Some hundred microseconds' worth. */
const STEP_ROUTES = 32
const MAX_PARAMETER_LENGTH = 1_048_576 // request targets are limited long before

/**
 * Builds the table that decides which route a request meets.
 *
 * A route matches when its path and its methods do; of the routes that match, the most specific path wins, segment by
 * segment from the left: literal before `{parameter}` before `**`. So `GET /a/{x}` does not hide `POST /a/**`. Among routes of
 * one such path the one wins whose headers the request brings, and of several the one that asks for most; when it brings none
 * of them, nothing is found, however wide another path may be. A path that only routes with other methods match is
 * `method_not_allowed`. HEAD meets the GET routes unless a route of the same shape lists HEAD. The order of `routes` changes
 * nothing.
 * @throws {Error} on a malformed template, an unknown method, or two routes with one shape, one method and the same headers:
 * `loadPolicies` finds all of these before, with their places.
 */
export function buildRouteTable<T extends Routable>(routes: readonly T[]): RouteTable<T> {
  return runSync(buildRouteTableSliced(routes))
}

/** The same in steps of some routes each. */
export function* buildRouteTableSliced<T extends Routable>(routes: readonly T[]): Steps<RouteTable<T>> {
  const groups = yield* groupRoutes(routes)
  const router = FindMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: false,
    maxParamLength: MAX_PARAMETER_LENGTH,
  })
  const methods = new Set<string>()
  let placed = 0
  for (const { method, template, candidates } of groups.values()) {
    if (placed++ % STEP_ROUTES === 0) yield
    const place = toPlace(candidates)
    methods.add(method)
    router.on(method as HTTPMethod, routerPath(template), () => undefined, place)
    // `**` is also this path itself, unless another route says that path exactly.
    const base = { ...template, below: false }
    if (template.below && base.segments.length > 0 && !groups.has(groupKey(method, base))) {
      router.on(method as HTTPMethod, routerPath(base), () => undefined, place)
    }
  }
  // Where nobody lists it, it is GET everywhere, and needs no places of its own.
  const isHeadGet = methods.has('GET') && !methods.has('HEAD')
  if (isHeadGet) methods.add('HEAD')
  const known = [...methods].toSorted()
  const find = (method: string, key: string) =>
    router.find((isHeadGet && method === 'HEAD' ? 'GET' : method) as HTTPMethod, key)
  return Object.freeze({
    match(method: string, path: string, request: HeaderSource = NO_HEADERS): Match<T> {
      if (!path.startsWith('/')) return NOT_FOUND
      const key = protect(path)
      if (methods.has(method)) {
        const found = find(method, key)
        if (found !== null) {
          const { only, choice } = found.store as Place<T>
          const entry = choice === undefined ? only : chooseByHeaders(choice, request)
          return entry === undefined ? NOT_FOUND : toMatch(entry, found.params)
        }
      }
      const allow = known.filter((other) => other !== method && find(other, key) !== null)
      return allow.length === 0 ? NOT_FOUND : { kind: 'method_not_allowed', allow }
    },
    routesAt(path: string): ReadonlyMap<string, readonly T[]> {
      const found = new Map<string, readonly T[]>()
      if (!path.startsWith('/')) return found
      const key = protect(path)
      for (const method of known) {
        const place = find(method, key)?.store as Place<T> | undefined
        if (place !== undefined)
          found.set(
            method,
            entriesAt(place).map(({ route }) => route),
          )
      }
      return found
    },
  })
}

type Group<T> = {
  readonly method: string
  readonly template: PathTemplate
  readonly candidates: Candidate<Entry<T>>[]
}

/** The routes of each method and shape; of HEAD only where a route lists it. */
function* groupRoutes<T extends Routable>(routes: readonly T[]): Steps<ReadonlyMap<string, Group<T>>> {
  yield
  const parsed = routes.map((route) => ({ route, template: readTemplate(route.path) }))
  const withOwnHead = new Set(
    parsed.flatMap(({ route, template }) => (route.methods.includes('HEAD') ? [shapeOf(template)] : [])),
  )
  const groups = new Map<string, Group<T>>()
  for (const { route, template } of parsed) {
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

function toPlace<T>(candidates: readonly Candidate<Entry<T>>[]): Place<T> {
  const [first] = candidates
  return candidates.length === 1 && first?.headers.length === 0
    ? { only: first.route, choice: undefined }
    : { only: undefined, choice: compileHeaderChoice(candidates) }
}

function entriesAt<T>({ only, choice }: Place<T>): readonly Entry<T>[] {
  if (choice !== undefined) return entriesOf(choice)
  return only === undefined ? [] : [only]
}

function readTemplate(path: string): PathTemplate {
  const template = parsePathTemplate(path)
  if ('problem' in template) throw new Error(`route path "${path}": ${template.problem}`)
  return template
}

/**
 * The template in the router's own notation. A parameter is one segment that is not empty; saying so as a pattern lets the
 * router go on looking (for a `**`) when it is. Literal `:` is doubled.
 */
function routerPath(template: PathTemplate): string {
  let parameters = 0
  const segments = template.segments.map((one) =>
    'parameter' in one ? `/:p${parameters++}([^/]+)` : `/${one.literal.replaceAll(':', '::')}`,
  )
  return `${segments.join('')}${template.below ? '/*' : ''}`
}

/** The router decodes what it is given; encoding its three special characters once more makes that a no-op. */
function protect(path: string): string {
  return /[%?#]/.test(path) ? path.replace(/[%?#]/g, encodeURIComponent) : path
}

function toMatch<T>(entry: Entry<T>, found: { readonly [name: string]: string | undefined }): Match<T> {
  const params: Record<string, string> = Object.create(null)
  for (const [index, name] of entry.names.entries()) params[name] = found[`p${index}`] ?? ''
  if (found['*'] !== undefined) params['**'] = found['*']
  return { kind: 'route', route: entry.route, params }
}
