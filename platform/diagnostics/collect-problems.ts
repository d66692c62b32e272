import { ConfigError } from './config-error.ts'
import type { Diagnostic } from './diagnostic.ts'

/** Problems of several files, collected in one run. */
export type Problems = {
  readonly found: Diagnostic[]
  /**
   * Runs `read` and records its diagnostics, so that one invalid file does not hide problems in the next.
   * @returns undefined when `read` throws a ConfigError.
   */
  attempt<T>(read: () => T): T | undefined
}

/** Creates an empty collection. Errors other than ConfigError propagate. */
export function collectProblems(): Problems {
  const found: Diagnostic[] = []
  return {
    found,
    attempt(read) {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        found.push(...error.diagnostics)
        return undefined
      }
    },
  }
}
