import { formatDuration } from '../platform/diagnostics/schema/value-formats.ts'
import type { ExplainedCondition } from '../policy-engine/decide/explain-decision.ts'
import type { AuthenticationRule, CorsRule, Operand, ScopeRule } from '../policy-engine/load/policy-route.ts'

export function describeCorsList(list: readonly string[] | undefined): string {
  if (list === undefined) return 'all'
  return list.length === 0 ? 'none' : list.join(', ')
}

/** Describes a rule in one line, e.g. `origins: https://app.example; methods: GET`. */
export function describeCors({ origins, methods, headers }: CorsRule): string {
  const parts = { origins, methods, headers }
  return Object.entries(parts)
    .flatMap(([key, list]) => (list === undefined ? [] : [`${key}: ${describeCorsList(list)}`]))
    .join('; ')
}

/** Formats the required scopes, e.g. `all of: a, b and one of: c, d`. */
export function formatScopeRule({ all, any }: ScopeRule): string {
  return [
    ...(all.length > 0 ? [`all of: ${all.join(', ')}`] : []),
    ...(any.length > 0 ? [`one of: ${any.join(', ')}`] : []),
  ].join(' and ')
}

/** Formats the required sign-in, e.g. `acr one of: phr, mfa and within 5m`. */
export function formatAuthentication({ acr, maxAgeSeconds }: AuthenticationRule): string {
  return [
    ...(acr.length > 0 ? [`acr one of: ${acr.join(', ')}`] : []),
    ...(maxAgeSeconds === undefined ? [] : [`within ${formatDuration(maxAgeSeconds * 1_000)}`]),
  ].join(' and ')
}

/** Describes the operands of a condition, e.g. `school_id "s1" equals header x-school-id "s1"`. */
export function describeComparison({ condition, claim, operands }: ExplainedCondition): string {
  const { test } = condition
  const claimed = `${condition.claim} ${claim === undefined ? '(absent)' : JSON.stringify(claim)}`
  if ('exists' in test) return `${claimed} ${test.exists ? 'must be present' : 'must be absent'}`
  if ('matches' in test) return `${claimed} matches ${JSON.stringify(test.matches)}`
  const wanted = 'equals' in test ? [test.equals] : test.in
  const shown = wanted.map((operand, index) => describeOperand(operand, operands[index])).join(', ')
  return `${claimed} ${'equals' in test ? 'equals' : 'is one of'} ${shown}`
}

function describeOperand(operand: Operand, value: unknown): string {
  const said = value === undefined ? '(absent or ambiguous)' : JSON.stringify(value)
  return typeof operand === 'object' ? `${operand.from} ${operand.name} ${said}` : said
}
