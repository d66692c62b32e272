import FindMyWay, { type HTTPMethod } from 'find-my-way'
import { type PathTemplate, parsePathTemplate, shapeOf } from './path-template.ts'

/** What a request meets. `params` has no prototype; what `**` stands for is under the name `**`. */
export type Match<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'not_found' }

/** An immutable table of routes. */
export type RouteTable<T> = {
  /** `path` is canonical; it is never decoded again. Case and a trailing slash are significant. */
  match(method: string, path: string): Match<T>
}

/** What lies behind one entry: the route, and the names of its parameters in order. */
type Entry<T> = { readonly route: T; readonly names: readonly string[] }

const NOT_FOUND = Object.freeze({ kind: 'not_found' as const })
const MAX_PARAMETER_LENGTH = 1_048_576 // request targets are limited long before

/**
 * Builds the table that decides which route a request meets.
 *
 * A route matches when its path and its methods do; of the routes that match, the most specific path wins, segment by
 * segment from the left: literal before `{parameter}` before `**`. So `GET /a/{x}` does not hide `POST /a/**`. A path that
 * only routes with other methods match is `method_not_allowed`. HEAD meets the GET route unless a route of the same shape
 * lists HEAD. The order of `routes` changes nothing.
 * @throws {Error} on a malformed template, an unknown method, or two routes with one shape and one method: `loadPolicies`
 * finds all of these before, with their places.
 */
export function buildRouteTable<T extends { readonly methods: readonly string[]; readonly path: string }>(
  routes: readonly T[],
): RouteTable<T> {
  const parsed = routes.map((route) => ({ route, template: readTemplate(route.path) }))
  const explicit = new Set(
    parsed.flatMap(({ route, template }) => route.methods.map((method) => `${method} ${shapeOf(template)}`)),
  )
  const router = FindMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: false,
    maxParamLength: MAX_PARAMETER_LENGTH,
  })
  const methods = new Set<string>()
  for (const { route, template } of parsed) {
    const entry: Entry<T> = {
      route,
      names: template.segments.flatMap((one) => ('parameter' in one ? [one.parameter] : [])),
    }
    for (const method of withHead(route.methods, template, explicit)) {
      methods.add(method)
      router.on(method as HTTPMethod, routerPath(template), () => undefined, entry)
      // `**` is also this path itself, unless another route says that path exactly.
      const base = { ...template, below: false }
      if (template.below && base.segments.length > 0 && !covers(explicit, method, base)) {
        router.on(method as HTTPMethod, routerPath(base), () => undefined, entry)
      }
    }
  }
  const known = [...methods].toSorted()
  return Object.freeze({
    match(method: string, path: string): Match<T> {
      if (!path.startsWith('/')) return NOT_FOUND
      const key = protect(path)
      if (methods.has(method)) {
        const found = router.find(method as HTTPMethod, key)
        if (found !== null) return toMatch(found.store as Entry<T>, found.params)
      }
      const allow = known.filter(
        (other) => other !== method && router.find(other as HTTPMethod, key) !== null,
      )
      return allow.length === 0 ? NOT_FOUND : { kind: 'method_not_allowed', allow }
    },
  })
}

function readTemplate(path: string): PathTemplate {
  const template = parsePathTemplate(path)
  if ('problem' in template) throw new Error(`route path "${path}": ${template.problem}`)
  return template
}

/** RFC 9110 section 9.3.2: HEAD is GET without content. */
function withHead(
  methods: readonly string[],
  template: PathTemplate,
  explicit: ReadonlySet<string>,
): readonly string[] {
  if (!methods.includes('GET') || explicit.has(`HEAD ${shapeOf(template)}`)) return methods
  return [...methods, 'HEAD']
}

function covers(explicit: ReadonlySet<string>, method: string, template: PathTemplate): boolean {
  const shape = shapeOf(template)
  return explicit.has(`${method} ${shape}`) || (method === 'HEAD' && explicit.has(`GET ${shape}`))
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
