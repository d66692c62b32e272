import type { HeaderValue } from '../load/header-rules.ts'

type Claimant = { readonly headers: readonly HeaderValue[] }

/**
 * Conflicting route. `same`: it requires the same headers.
 * `crossing`: one request can satisfy the headers of both routes.
 */
export type HeaderConflict<T> = { readonly kind: 'same' | 'crossing'; readonly other: T }

/**
 * Required headers of the routes of one method and path.
 * Two routes do not conflict if they require different values of one header.
 * They also do not conflict if one route requires all headers of the other route and more.
 */
export class HeaderSets<T extends Claimant> {
  readonly #layers = new Map<string, { readonly names: ReadonlySet<string>; readonly claims: T[] }>()
  readonly #taken = new Map<string, T>()

  /** Adds a route. @returns its first conflict. */
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
