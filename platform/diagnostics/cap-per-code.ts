import { type Diagnostic, diagnostic, wholeFile } from './diagnostic.ts'

/** Of one code in one file; nobody reads more in one go, and each line of a hostile file could be one. */
export const MAX_PER_CODE = 50

/** Keeps the first of each code of each file and says how many more there are. */
export function capPerCode(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  if (diagnostics.length <= MAX_PER_CODE) return diagnostics
  return [...Map.groupBy(diagnostics, ({ code, place }) => `${code} ${place.file}`).values()].flatMap(
    (all) => {
      const [first] = all
      // The line that counts them takes no less room than the one that it would count.
      if (first === undefined || all.length <= MAX_PER_CODE + 1) return all
      const message = `${all.length - MAX_PER_CODE} more of this kind are in this file`
      const more = diagnostic(first.code, message, wholeFile(first.place.file), { severity: first.severity })
      return [...all.slice(0, MAX_PER_CODE), more]
    },
  )
}
