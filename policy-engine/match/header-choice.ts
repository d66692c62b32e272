import type { HeaderValue } from '../load/policy-route.ts'
import { AMBIGUOUS, type HeaderSource } from './find-header.ts'
import { readMatchHeader } from './mcp-headers.ts'

/**
 * Routes of one method and path that differ in their required headers.
 * The cost of a lookup depends on the number of layers, not on the number of routes.
 */
export type HeaderChoice<T> = {
  readonly names: readonly string[]
  /** Routes grouped by the names of their required headers. Layers with more headers come first. */
  readonly layers: readonly { readonly names: readonly string[]; readonly byValues: ReadonlyMap<string, T> }[]
  /** Route without required headers. */
  readonly base: T | undefined
}

/** Route, and its required headers sorted by name. */
export type Candidate<T> = { readonly headers: readonly HeaderValue[]; readonly route: T }

/**
 * Compiles the choice. The order of the candidates does not affect the result.
 * @throws {Error} if two candidates require the same headers, which `loadPolicies()` reports earlier.
 */
export function compileHeaderChoice<T>(candidates: readonly Candidate<T>[]): HeaderChoice<T> {
  const layers = new Map<string, { names: readonly string[]; byValues: Map<string, T> }>()
  for (const { headers, route } of candidates) {
    const names = headers.map(({ name }) => name)
    const layer = layers.get(names.join()) ?? { names, byValues: new Map<string, T>() }
    layers.set(names.join(), layer)
    const key = joinValues(headers.map(({ value }) => value))
    if (layer.byValues.has(key))
      throw new Error('another route has the same method, path and required headers')
    layer.byValues.set(key, route)
  }
  const base = layers.get('')?.byValues.get('')
  layers.delete('')
  return {
    names: [...new Set([...layers.values()].flatMap(({ names }) => names))].toSorted(),
    layers: [...layers.entries()]
      .toSorted(([a, one], [b, other]) => other.names.length - one.names.length || (a < b ? -1 : 1))
      .map(([, layer]) => layer),
    base,
  }
}

export function entriesOf<T>({ layers, base }: HeaderChoice<T>): readonly T[] {
  const entries = layers.flatMap(({ byValues }) => [...byValues.values()])
  return base === undefined ? entries : [...entries, base]
}

/**
 * Chooses the route whose required headers the request contains.
 * If several routes match, the route with the most required headers wins. If any of the routes requires an ambiguous
 * header, no route matches, because an upstream could read another value of the header.
 * @returns undefined if no route matches.
 */
export function chooseByHeaders<T>(choice: HeaderChoice<T>, request: HeaderSource): T | undefined {
  const values = new Map<string, string>()
  for (const name of choice.names) {
    const value = readMatchHeader(request, name)
    if (value === AMBIGUOUS) return undefined
    if (value !== undefined) values.set(name, value)
  }
  for (const { names, byValues } of choice.layers) {
    if (!names.every((name) => values.has(name))) continue
    const route = byValues.get(joinValues(names.map((name) => values.get(name) ?? '')))
    if (route !== undefined) return route
  }
  return choice.base
}

/** Joins header values to one key. Values cannot contain the separator, a line break. RFC 9110 section 5.5. */
function joinValues(values: readonly string[]): string {
  return values.join('\n')
}
