import type { HeaderValue } from '../../../policy-engine/load/policy-route.ts'
import { MCP_VERSION } from '../../../policy-engine/match/mcp-headers.ts'
import { type PathTemplate, readPathTemplate } from '../../../policy-engine/match/path-template.ts'
import { buildTemplateTree, intersectTemplates } from './overlapping-templates.ts'

/** The properties of a route that determine its matching requests. */
type Matching = {
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders: readonly HeaderValue[]
}

/** A request that represents all requests that match the same routes on both sides. */
export type RepresentativeRequest = {
  readonly method: string
  readonly path: string
  readonly headers: readonly HeaderValue[]
}

type Prepared = { readonly template: PathTemplate; readonly headers: readonly HeaderValue[] }

/**
 * Finds requests that cover every pair of an old and a new route that one request can match.
 * A request that matches an old and a new route matches the intersection of the two templates. The most general path of
 * that intersection matches the fewest templates. Each of these templates also matches every other path of the
 * intersection. Assume that two routes have the highest precedence on some path. The two routes then also have the
 * highest precedence on the most general path of the same length. The same argument applies to headers: a request has
 * only the headers that the two routes require.
 * @param resources paths of resources. Below each path, tokens need a different audience.
 */
export function representativeRequests(
  old: readonly Matching[],
  now: readonly Matching[],
  resources: readonly string[] = [],
): readonly RepresentativeRequest[] {
  const cache = new Map<string, PathTemplate>()
  const read = (path: string): PathTemplate => {
    const known = cache.get(path) ?? readPathTemplate(path)
    cache.set(path, known)
    return known
  }
  const parts = resources.map((path) => read(`${path}/**`))
  const templates = [...[...old, ...now].map(({ path }) => read(path)), ...parts]
  const fresh = freshSegments(templates)
  const depth = Math.max(0, ...templates.map(({ segments }) => segments.length)) + 1
  const version = freshVersion([...old, ...now])
  const found = new Map<string, RepresentativeRequest>()
  for (const method of methodsOf([...old, ...now])) {
    const sides = [old, now].map((routes) =>
      routes
        .filter((one) => serves(one, method))
        .map((one): Prepared => ({ template: read(one.path), headers: one.matchHeaders })),
    ) as [Prepared[], Prepared[]]
    for (const { template, headers } of intersections(sides, parts))
      for (const path of representativePaths(template, fresh, depth))
        for (const asked of headers) {
          const set = withVersion(asked, version)
          const request = { method, path, headers: set }
          found.set(
            `${method} ${path} ${set.map(({ name, value }) => `${name}:${value}`).join('\n')}`,
            request,
          )
        }
  }
  return [...found.values()]
}

/** RFC 9110 section 9.3.2: HEAD follows GET. */
function serves({ methods }: Matching, method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/**
 * Returns the methods to compare. HEAD is included only if a route lists HEAD. Otherwise HEAD matches the same routes
 * as GET.
 */
function methodsOf(routes: readonly Matching[]): ReadonlySet<string> {
  return new Set(routes.flatMap((one) => one.methods))
}

/**
 * Yields each route alone, and the intersections of routes of both sides. For each route and each intersection, yields
 * results without headers, with the headers of one route, and with the headers of both routes.
 */
function* intersections(
  [old, now]: readonly [readonly Prepared[], readonly Prepared[]],
  parts: readonly PathTemplate[],
): Generator<{ readonly template: PathTemplate; readonly headers: readonly (readonly HeaderValue[])[] }> {
  const within = function* (template: PathTemplate, headers: readonly (readonly HeaderValue[])[]) {
    yield { template, headers }
    for (const part of parts) {
      const common = intersectTemplates(template, part)
      if (common !== undefined) yield { template: common, headers }
    }
  }
  for (const { template, headers } of [...old, ...now]) yield* within(template, headerSets(headers, []))
  const tree = buildTemplateTree(now)
  for (const one of old)
    for (const other of tree.overlapping(one.template)) {
      const common = intersectTemplates(one.template, other.template)
      if (common !== undefined) yield* within(common, headerSets(one.headers, other.headers))
    }
}

const NO_HEADERS: readonly (readonly HeaderValue[])[] = [[]]

function headerSets(
  a: readonly HeaderValue[],
  b: readonly HeaderValue[],
): readonly (readonly HeaderValue[])[] {
  if (a.length === 0 && b.length === 0) return NO_HEADERS
  const both = new Map([...a, ...b].map(({ name, value }) => [name, value]))
  const agree = [...a, ...b].every(({ name, value }) => both.get(name) === value)
  const union = [...both].map(([name, value]) => ({ name, value }))
  return [[], a, b, ...(agree ? [union] : [])]
}

/**
 * Returns a revision of MCP that has the headers and that no route requires. A required version could match additional
 * routes.
 */
function freshVersion(routes: readonly Matching[]): HeaderValue {
  const asked = new Set(routes.flatMap((one) => one.matchHeaders.map(({ value }) => value)))
  let year = 3000
  while (asked.has(`${year}-01-01`)) year++
  return { name: MCP_VERSION, value: `${year}-01-01` }
}

function withVersion(headers: readonly HeaderValue[], version: HeaderValue): readonly HeaderValue[] {
  const needsOne =
    headers.some(({ name }) => name.startsWith('mcp-')) && !headers.some(({ name }) => name === MCP_VERSION)
  return (needsOne ? [...headers, version] : [...headers]).toSorted((x, y) => (x.name < y.name ? -1 : 1))
}

/** Returns text for a segment that differs from all literals of all templates. */
type Fresh = (segment: number) => string

/**
 * Creates segments that the templates do not contain. The segments consist of plain letters, so that a path stays
 * canonical.
 */
export function freshSegments(templates: readonly PathTemplate[]): Fresh {
  const literals = new Set<string>()
  for (const { segments } of templates)
    for (const one of segments) if ('literal' in one) literals.add(one.literal)
  let prefix = 'any'
  while ([...literals].some((literal) => literal.startsWith(prefix))) prefix += 'y'
  return (segment) => `${prefix}${segment}`
}

/**
 * Returns paths that represent all paths of a template, for comparison with templates of at most `depth` segments. A
 * parameter becomes a text that no template contains. `**` becomes no segments, some segments, or some segments with a
 * trailing slash.
 */
export function representativePaths(template: PathTemplate, fresh: Fresh, depth: number): readonly string[] {
  const segments = template.segments.map((one, index) => ('parameter' in one ? fresh(index) : one.literal))
  const base = `/${segments.join('/')}`
  if (!template.below) return [base]
  const paths = [base]
  let longer = segments.length === 0 ? '' : base
  for (let length = segments.length; length <= depth; length++) {
    paths.push(`${longer}/`)
    longer += `/${fresh(length)}`
    paths.push(longer)
  }
  return paths
}
