import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'

/** Maximum number of further locations that a report shows for one cause. */
const FURTHER_PLACES = 2

/** Merges problems with the same code and message into one at the first location. Its message contains their number. */
export function onePerCause(problems: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...Map.groupBy(problems, ({ code, message }) => `${code} ${message}`).values()].flatMap((group) => {
    const [first, ...others] = group
    if (first === undefined || others.length === 0) return group
    const related = others.slice(0, FURTHER_PLACES).map(({ place }) => ({ message: 'also here', place }))
    return [
      {
        ...first,
        message: `${first.message} (${group.length} places)`,
        related: [...first.related, ...related],
      },
    ]
  })
}
