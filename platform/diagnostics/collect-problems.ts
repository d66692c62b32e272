import { ConfigError } from './boot-error.ts'
import { type Diagnostic, diagnostic, wholeFile } from './diagnostic.ts'

/** Problems of several files, collected in one run. */
type Problems = {
  readonly found: Diagnostic[]
  /**
   * Runs `read` and records its diagnostics, so that one invalid file does not hide problems in the next file.
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

/** Maximum number of diagnostics per code and file. In a hostile file, each line could cause a diagnostic. */
export const MAX_PER_CODE = 50

/** Keeps the first diagnostics of each code and file, and reports the number of the omitted diagnostics. */
export function capPerCode(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  if (diagnostics.length <= MAX_PER_CODE) return diagnostics
  return [...Map.groupBy(diagnostics, ({ code, location }) => `${code} ${location.file}`).values()].flatMap(
    (all) => {
      const [first] = all
      // If only one diagnostic exceeds the maximum, that diagnostic is shown instead of a line with the number 1.
      if (first === undefined || all.length <= MAX_PER_CODE + 1) return all
      const message = `this file has ${all.length - MAX_PER_CODE} more problems with this code`
      const more = diagnostic(first.code, message, wholeFile(first.location.file), {
        severity: first.severity,
      })
      return [...all.slice(0, MAX_PER_CODE), more]
    },
  )
}
