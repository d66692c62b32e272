import { type Diagnostic, diagnostic, type Place } from '../../runtime/diagnostic.ts'
import { shapeOf } from './path-template.ts'
import type { Claim } from './read-claims.ts'

/**
 * Finds routes between which luck would decide: the same methods on paths of the same shape, in one file or in two.
 * Codes: P301 two routes claim one method and path, P305 (warning) two paths differ only in upper and lower case.
 */
export function findConflicts(claims: readonly Claim[]): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const takenBy = new Map<string, Claim>()
  const spelled = new Map<string, { readonly shape: string; readonly claim: Claim }>()
  for (const claim of claims) {
    const shape = shapeOf(claim.template)
    const shared = new Map<Claim, string[]>()
    for (const method of new Set(claim.methods)) {
      const key = `${method} ${shape}`
      const other = takenBy.get(key)
      if (other === undefined) takenBy.set(key, claim)
      else shared.set(other, [...(shared.get(other) ?? []), method])
    }
    for (const [other, methods] of shared) diagnostics.push(conflict(claim, other, methods))
    const folded = shape.toLowerCase()
    const twin = spelled.get(folded)
    if (twin === undefined) spelled.set(folded, { shape, claim })
    else if (twin.shape !== shape) diagnostics.push(caseTwin(claim, twin.claim))
  }
  return diagnostics
}

function conflict(claim: Claim, other: Claim, methods: readonly string[]): Diagnostic {
  const what = `${methods.join(', ')} ${claim.path}`
  const same = claim.path === other.path ? '' : ` (it matches the same paths as ${other.path})`
  return diagnostic('P301', `routes ${other.name} and ${claim.name} both claim ${what}${same}`, claim.place, {
    hint: 'give each method and path to one route',
    related: [{ message: `${other.name} claims it here`, place: other.place }],
  })
}

function caseTwin(claim: Claim, other: Claim): Diagnostic {
  return diagnostic(
    'P305',
    `${claim.path} and ${other.path} differ only in upper and lower case`,
    claim.place,
    {
      severity: 'warning',
      hint: 'they are two paths; is that meant?',
      related: [{ message: 'the other one', place: other.place }],
    },
  )
}

/** Something with a name that may be there only once, e.g. a policy. */
export type Named = { readonly name: string; readonly place: Place }

/** Finds names that are there twice. Codes: P303 policies, P304 routes of one file. */
export function findSameNames(
  code: 'P303' | 'P304',
  what: string,
  all: readonly Named[],
): readonly Diagnostic[] {
  const first = new Map<string, Place>()
  return all.flatMap(({ name, place }) => {
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, place)
      return []
    }
    const related = [{ message: 'it was here first', place: earlier }]
    return [
      diagnostic(code, `${what} ${JSON.stringify(name)} is here twice`, place, {
        hint: 'rename one',
        related,
      }),
    ]
  })
}
