import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'

export type Named = { readonly name: string; readonly place: SourceLocation }

/** Finds duplicate names. Codes: P303 policies, P304 routes of one file. */
export function findDuplicateNames(
  code: 'P303' | 'P304',
  what: string,
  all: readonly Named[],
): readonly Diagnostic[] {
  const first = new Map<string, SourceLocation>()
  return all.flatMap(({ name, place }) => {
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, place)
      return []
    }
    const related = [{ message: 'the first definition', place: earlier }]
    return [
      diagnostic(code, `${what} ${JSON.stringify(name)} is defined twice`, place, {
        hint: 'rename one',
        related,
      }),
    ]
  })
}
