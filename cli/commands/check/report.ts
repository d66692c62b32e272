import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'

/** What a check found, before anybody chose how to show it. */
export type CheckReport = {
  /** Errors and warnings, sorted by file and line; then tests that failed. */
  readonly problems: readonly Diagnostic[]
  readonly notes: readonly Diagnostic[]
  /** Errors that concern none of the files that were asked for. */
  readonly hiddenErrors: number
  readonly sizes: CheckSizes
  /** The folders whose files decide what is found. */
  readonly folders: readonly string[]
}

/** How much was looked at. */
export type CheckSizes = {
  readonly policies: number
  readonly routes: number
  /** Of the catalogue's scopes, those that a route asks for. */
  readonly scopesUsed: number
  readonly scopes: number
  /** Tests that were run; undefined when none could be, or should. */
  readonly tests: number | undefined
}

/** Counts what routes there are and which scopes they ask for. */
export function measure(routes: readonly PolicyRoute[], scopes: number): Omit<CheckSizes, 'tests'> {
  const used = routes.flatMap((route) => [...(route.scopes?.all ?? []), ...(route.scopes?.any ?? [])])
  return {
    policies: new Set(routes.map(({ policy }) => policy)).size,
    routes: routes.length,
    scopesUsed: new Set(used).size,
    scopes,
  }
}

/** How many of one severity there are. */
export function count(all: readonly Diagnostic[], severity: Diagnostic['severity']): number {
  return all.filter((one) => one.severity === severity).length
}

/** A test that fails is an error of its own kind: the gateway would start. */
export function isTestFailure({ code }: Diagnostic): boolean {
  return code.startsWith('T')
}

/** `1 error`, `2 errors`. */
export function inWords(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
