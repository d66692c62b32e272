import { formatDuration } from '../../platform/diagnostics/schema/value-formats.ts'
import type { RateLimitRule } from '../format/rate-limit.ts'
import type { SharedLimit } from '../format/shared-limits.ts'
import type {
  AnonymousRule,
  AuthenticationRule,
  CorsRule,
  Operand,
  PolicyRoute,
  ScopeRule,
} from '../load/policy-route.ts'
import type { Caller } from './caller.ts'
import type { ExplainedCondition } from './explain-decision.ts'
import { singleClaim } from './named-claims.ts'

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

/** Describes the handling of requests without a token. */
export function describeAnonymous(rule: AnonymousRule): string {
  const words = {
    allow: 'forwarded without identity',
    challenge: '401 with resource_metadata',
    deny: '401 without resource_metadata',
  } as const satisfies Record<AnonymousRule, string>
  return `${rule}: ${words[rule]}`
}

/** Describes the handling of MCP messages. */
export function describeMcp({ mcp }: PolicyRoute): string {
  return mcp === undefined ? 'none' : Object.keys(mcp).join(', ')
}

/** Describes the rate limit of a route, e.g. `600 per 1m by client`. */
export function describeRateLimit({ requests, perMs, by }: RateLimitRule): string {
  return `${requests} per ${formatDuration(perMs)} by ${by}`
}

/**
 * Describes a shared limit, e.g. `api: 1000 per 1m by subject`, or with plans
 * `apps: 60 per 1m by client; by claim plan: free 60, pro 6000`.
 */
export function describeSharedLimit(limit: SharedLimit): string {
  const { plans } = limit
  const numbers = plans?.values.map(({ plan, requests }) => `${plan} ${requests}`).join(', ')
  return `${describeLimit(limit, limit.requests)}${plans === undefined ? '' : `; by claim ${plans.claim}: ${numbers}`}`
}

/** Describes a shared limit for one caller, e.g. `apps: 6000 per 1m by client (plan pro)`. */
export function describeLimitOf(limit: SharedLimit, caller: Caller | undefined): string {
  const { plans } = limit
  if (plans === undefined) return describeLimit(limit, limit.requests)
  const plan = singleClaim(caller?.claims, plans.claim)
  const known = plans.values.find((one) => one.plan === plan)
  return `${describeLimit(limit, known?.requests ?? limit.requests)} (${known === undefined ? 'no plan' : `plan ${known.plan}`})`
}

function describeLimit({ name, perMs, key, claim }: SharedLimit, requests: number): string {
  return `${name}: ${requests} per ${formatDuration(perMs)} by ${claim === undefined ? key : `claim ${claim}`}`
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
