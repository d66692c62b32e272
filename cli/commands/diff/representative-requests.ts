import type { HeaderValue } from '../../../policy-engine/load/header-rules.ts'
import { type PathTemplate, parsePathTemplate } from '../../../policy-engine/match/path-template.ts'
import { intersectTemplates } from './intersect-templates.ts'
import { freshSegments, representativePaths } from './representative-paths.ts'
import { buildTemplateTree } from './template-tree.ts'

/** What of a route decides which requests it meets. */
export type Matching = {
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders: readonly HeaderValue[]
}

/** A request that stands for all those which two tables cannot tell from it. */
export type RepresentativeRequest = {
  readonly method: string
  readonly path: string
  readonly headers: readonly HeaderValue[]
}

type Prepared = { readonly template: PathTemplate; readonly headers: readonly HeaderValue[] }

/** Headers of MCP count only beside a version of it, which has the shape of a date. */
const MCP_VERSION = 'mcp-protocol-version'

/**
 * Finds requests such that every pair of routes, one of each table, which some request meets is met by one of these.
 *
 * A request that meets a route of each side lies where their templates meet. The most general path there is matched by the
 * fewest templates, each of which matches every other path there as well: so whichever two routes win somewhere also win on
 * that path, at the same length. The same holds of headers: those which the two ask for, and no more.
 * @param resources paths of resources, below which tokens have to be for something else.
 */
export function representativeRequests(
  old: readonly Matching[],
  now: readonly Matching[],
  resources: readonly string[] = [],
): readonly RepresentativeRequest[] {
  const cache = new Map<string, PathTemplate>()
  const read = (path: string): PathTemplate => {
    const known = cache.get(path) ?? readTemplate(path)
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
    for (const { template, headers } of meetings(sides, parts))
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

/** HEAD is looked at on its own where a route names it: otherwise it fares as GET does. */
function methodsOf(routes: readonly Matching[]): ReadonlySet<string> {
  return new Set(routes.flatMap((one) => one.methods))
}

function readTemplate(path: string): PathTemplate {
  const template = parsePathTemplate(path)
  if ('problem' in template) throw new Error(`route path "${path}": ${template.problem}`)
  return template
}

/** Where routes of both sides meet, and each alone; by the headers of either, of both, and of none. */
function* meetings(
  [old, now]: readonly [readonly Prepared[], readonly Prepared[]],
  parts: readonly PathTemplate[],
): Generator<{ readonly template: PathTemplate; readonly headers: readonly (readonly HeaderValue[])[] }> {
  const within = function* (template: PathTemplate, headers: readonly (readonly HeaderValue[])[]) {
    yield { template, headers }
    for (const part of parts) {
      const met = intersectTemplates(template, part)
      if (met !== undefined) yield { template: met, headers }
    }
  }
  for (const { template, headers } of [...old, ...now]) yield* within(template, headerSets(headers, []))
  const tree = buildTemplateTree(now)
  for (const one of old)
    for (const other of tree.meeting(one.template)) {
      const met = intersectTemplates(one.template, other.template)
      if (met !== undefined) yield* within(met, headerSets(one.headers, other.headers))
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

/** A version that no route asks for: one that does would meet what it asks for beside it. */
function freshVersion(routes: readonly Matching[]): HeaderValue {
  const asked = new Set(routes.flatMap((one) => one.matchHeaders.map(({ value }) => value)))
  let year = 1000
  while (asked.has(`${year}-01-01`)) year++
  return { name: MCP_VERSION, value: `${year}-01-01` }
}

function withVersion(headers: readonly HeaderValue[], version: HeaderValue): readonly HeaderValue[] {
  const needsOne =
    headers.some(({ name }) => name.startsWith('mcp-')) && !headers.some(({ name }) => name === MCP_VERSION)
  return (needsOne ? [...headers, version] : [...headers]).toSorted((x, y) => (x.name < y.name ? -1 : 1))
}
