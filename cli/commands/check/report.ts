import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { OpenedSource } from '../../opened-source.ts'

export type CheckReport = {
  /** Errors and warnings, sorted by file and line. Failed tests follow. */
  readonly problems: readonly Diagnostic[]
  readonly notes: readonly Diagnostic[]
  /** Number of errors outside the requested files. */
  readonly hiddenErrors: number
  readonly sizes: CheckSizes
  /** The folders whose files affect the result. */
  readonly folders: readonly string[]
  /** The checked policy sources. Empty without policy sources. */
  readonly sources: readonly OpenedSource[]
}

/** Returns the policy source of a file; undefined for a file outside of all sources. */
export function sourceOfFile(
  { sources }: Pick<CheckReport, 'sources'>,
  file: string,
): OpenedSource | undefined {
  return sources.find(({ source }) => `${file}/`.startsWith(`${displayPath(source.folder)}/`))
}

export type CheckSizes = {
  readonly policies: number
  readonly routes: number
  /** Number of catalogue scopes that a route requires. */
  readonly scopesUsed: number
  readonly scopes: number
  /** Number of tests that ran. Undefined if the command did not run the tests. */
  readonly tests: number | undefined
}

export function measure(routes: readonly PolicyRoute[], scopes: number): Omit<CheckSizes, 'tests'> {
  const used = routes.flatMap((route) => [...(route.scopes?.all ?? []), ...(route.scopes?.any ?? [])])
  return {
    policies: new Set(routes.map(({ policy }) => policy)).size,
    routes: routes.length,
    scopesUsed: new Set(used).size,
    scopes,
  }
}

export function count(all: readonly Diagnostic[], severity: Diagnostic['severity']): number {
  return all.filter((one) => one.severity === severity).length
}

/**
 * Returns true for a failed test. Such an error is a separate kind, because it does not prevent the start of the
 * gateway.
 */
export function isTestFailure({ code }: Diagnostic): boolean {
  return code.startsWith('T')
}

export function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
