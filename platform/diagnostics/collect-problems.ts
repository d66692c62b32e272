import { ConfigError } from './config-error.ts'
import type { Diagnostic } from './diagnostic.ts'

/** What is wrong in several files, found in one go. */
export type Problems = {
  /** In the order in which it was found. */
  readonly found: Diagnostic[]
  /** Keeps what is wrong and goes on, so that one broken file does not hide the next. @returns undefined for a broken one. */
  attempt<T>(read: () => T): T | undefined
}

/** Begins with nothing found. Whatever is thrown that is not a ConfigError goes through. */
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
