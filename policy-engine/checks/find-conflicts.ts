import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'
import type { HeaderValue } from '../load/policy-route.ts'
import type { RouteKey } from '../load/route-keys.ts'
import { shapeOf } from '../match/path-template.ts'

/**
 * Finds routes that match the same requests, in one file or in two files.
 * Two such routes have a common method, paths of the same shape, and required headers that conflict (`HeaderSets`). The
 * order of `claims` does not affect the result.
 * Codes: P301 two routes with the same method, path and headers; P305 (warning) paths that differ only in case; P310 a
 * request can satisfy the headers of two routes; P318 only one of two routes for POST and the same path has
 * `mcp.readBody`.
 */
export function findConflicts(claims: readonly RouteKey[]): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const inOrder = claims.toSorted(byLocation)
  const groups = new Map<string, HeaderSets<RouteKey>>()
  const postRoutes = new Map<string, RouteKey>()
  const byFoldedShape = new Map<string, { readonly shape: string; readonly claim: RouteKey }>()
  for (const claim of inOrder) {
    const shape = shapeOf(claim.template)
    const same = new Map<RouteKey, string[]>()
    const crossing = new Map<RouteKey, string[]>()
    for (const method of new Set(claim.methods)) {
      const key = `${method} ${shape}`
      const group = groups.get(key) ?? new HeaderSets<RouteKey>()
      groups.set(key, group)
      const found = group.add(claim)
      if (found === undefined) continue
      const others = found.kind === 'same' ? same : crossing
      others.set(found.other, [...(others.get(found.other) ?? []), method])
    }
    for (const [other, methods] of same) diagnostics.push(conflict(claim, other, methods))
    for (const [other, methods] of crossing) diagnostics.push(crossed(claim, other, methods))
    if (claim.methods.includes('POST')) {
      const first = postRoutes.get(shape)
      if (first === undefined) postRoutes.set(shape, claim)
      else if (first.readsMcpBody !== claim.readsMcpBody) diagnostics.push(mcpConflict(claim, first))
    }
    const folded = shape.toLowerCase()
    const earlier = byFoldedShape.get(folded)
    if (earlier === undefined) byFoldedShape.set(folded, { shape, claim })
    else if (earlier.shape !== shape) diagnostics.push(caseConflict(claim, earlier.claim))
  }
  return diagnostics
}

function conflict(claim: RouteKey, other: RouteKey, methods: readonly string[]): Diagnostic {
  const what = `${methods.join(', ')} ${claim.path}${formatHeaders(claim.headers)}`
  const same = claim.path === other.path ? '' : ` (it matches the same paths as ${other.path})`
  return diagnostic(
    'P301',
    `routes ${other.name} and ${claim.name} both match ${what}${same}`,
    claim.location,
    {
      hint: 'give each method and path to one route',
      related: [{ message: `${other.name} matches the same requests`, location: other.location }],
    },
  )
}

function crossed(claim: RouteKey, other: RouteKey, methods: readonly string[]): Diagnostic {
  const both = formatHeaders(union(claim.headers, other.headers))
  return diagnostic(
    'P310',
    `a ${methods.join(' or ')} ${claim.path}${both} would match both ${other.name} and ${claim.name}`,
    claim.location,
    {
      hint: 'add all headers of one route to the other, or use different values of the same header',
      related: [
        { message: `${other.name} matches${formatHeaders(other.headers)}`, location: other.location },
      ],
    },
  )
}

function mcpConflict(claim: RouteKey, first: RouteKey): Diagnostic {
  const [one, other] = claim.readsMcpBody ? [claim, first] : [first, claim]
  return diagnostic(
    'P318',
    `${one.name} has mcp.readBody, but ${other.name} with the same path does not`,
    claim.location,
    {
      hint: 'set mcp.readBody for all POST routes of the path, for example in defaults',
      related: [{ message: `${first.name} has the same path`, location: first.location }],
    },
  )
}

function union(one: readonly HeaderValue[], other: readonly HeaderValue[]): readonly HeaderValue[] {
  return [...one, ...other.filter(({ name }) => !one.some((has) => has.name === name))]
}

function formatHeaders(headers: readonly HeaderValue[]): string {
  return headers.length === 0
    ? ''
    : ` with ${headers.map(({ name, value }) => `${name}: ${value}`).join(', ')}`
}

function caseConflict(claim: RouteKey, other: RouteKey): Diagnostic {
  return diagnostic(
    'P305',
    `${claim.path} and ${other.path} differ only in upper and lower case`,
    claim.location,
    {
      severity: 'warning',
      hint: 'paths are case-sensitive: write both in the same case',
      related: [{ message: 'the other path', location: other.location }],
    },
  )
}

function byLocation({ location: a }: RouteKey, { location: b }: RouteKey): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
}

type Claimant = { readonly headers: readonly HeaderValue[] }

/**
 * Conflicting route. `same`: both routes require the same headers.
 * `crossing`: one request can satisfy the headers of both routes.
 */
type HeaderConflict<T> = { readonly kind: 'same' | 'crossing'; readonly other: T }

/**
 * Required headers of the routes of one method and path. Two routes do not conflict if they require different values of
 * one header. Two routes also do not conflict if one route requires all headers of the other route and further headers.
 */
class HeaderSets<T extends Claimant> {
  readonly #layers = new Map<string, { readonly names: ReadonlySet<string>; readonly claims: T[] }>()
  readonly #taken = new Map<string, T>()

  /**
   * Adds a route.
   * @returns the first conflict of this route.
   */
  add(claim: T): HeaderConflict<T> | undefined {
    const { headers } = claim
    const values = headers.map(({ name, value }) => `${name}: ${value}`).join('\n')
    const same = this.#taken.get(values)
    if (same !== undefined) return { kind: 'same', other: same }
    const other = this.#findCrossing(headers)
    this.#taken.set(values, claim)
    const key = headers.map(({ name }) => name).join()
    const layer = this.#layers.get(key)
    if (layer === undefined)
      this.#layers.set(key, { names: new Set(headers.map(({ name }) => name)), claims: [claim] })
    else layer.claims.push(claim)
    return other === undefined ? undefined : { kind: 'crossing', other }
  }

  #findCrossing(headers: readonly HeaderValue[]): T | undefined {
    const own = new Map(headers.map(({ name, value }) => [name, value]))
    for (const { names, claims } of this.#layers.values()) {
      const shared = headers.filter(({ name }) => names.has(name)).length
      if (shared === names.size || shared === own.size) continue
      const found = claims.find((claim) =>
        claim.headers.every(({ name, value }) => !own.has(name) || own.get(name) === value),
      )
      if (found !== undefined) return found
    }
    return undefined
  }
}

export type Named = { readonly name: string; readonly location: SourceLocation }

/** Finds duplicate names. Codes: P303 policies, P304 routes of one file. */
export function findDuplicateNames(
  code: 'P303' | 'P304',
  what: string,
  all: readonly Named[],
): readonly Diagnostic[] {
  const first = new Map<string, SourceLocation>()
  return all.flatMap(({ name, location }) => {
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, location)
      return []
    }
    const related = [{ message: 'the first definition', location: earlier }]
    return [
      diagnostic(code, `${what} ${JSON.stringify(name)} is defined twice`, location, {
        hint: 'rename one',
        related,
      }),
    ]
  })
}
