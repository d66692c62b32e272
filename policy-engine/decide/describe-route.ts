import { formatByteSize, formatDuration } from '../../platform/diagnostics/schema/value-formats.ts'
import type { Condition, HeaderChanges, HeaderRules } from '../load/policy-route.ts'
import { describeOperand } from './compile-condition.ts'
import type { CompiledRoute } from './compile-policies.ts'
import { describeRateLimit, describeSharedLimit } from './describe-rules.ts'
import type { ScopeCheck, ScopeNeed } from './scope-check.ts'

/** Formats scopes: `all: a, b; any: c, d`. `withImplied` adds the scopes that imply each scope. */
export function describeScopes(check: ScopeCheck | undefined, withImplied = false): string {
  if (check === undefined) return 'none'
  const one = ({ scope, grantedBy }: ScopeNeed) =>
    withImplied && grantedBy.length > 1 ? `${scope} (or ${grantedBy.slice(1).join(', ')})` : scope
  const parts = [
    check.all.length === 0 ? [] : [`all: ${check.all.map(one).join(', ')}`],
    check.any.length === 0 ? [] : [`any: ${check.any.map(one).join(', ')}`],
  ].flat()
  return parts.length === 0 ? 'none' : parts.join('; ')
}

export function describeConditions(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? 'none' : conditions.map(describeCondition).join(' and ')
}

function describeCondition({ claim, test }: Condition): string {
  if ('equals' in test) return `${claim} equals ${describeOperand(test.equals)}`
  if ('in' in test) return `${claim} in ${test.in.map(describeOperand).join(', ')}`
  if ('matches' in test) return `${claim} matches ${JSON.stringify(test.matches)}`
  return test.exists ? `${claim} exists` : `${claim} is absent`
}

/** Describes the settings of a route other than its access rules, by name. */
export function describeService({ policy }: Pick<CompiledRoute, 'policy'>): Readonly<Record<string, string>> {
  const { rateLimit, sharedLimits = [], retries } = policy
  return {
    upstream: policy.upstream ?? 'none',
    'rate limit': rateLimit === undefined ? 'none' : describeRateLimit(rateLimit),
    'shared limits': sharedLimits.length === 0 ? 'none' : sharedLimits.map(describeSharedLimit).join(', '),
    timeout: describeDuration(policy.timeoutMs),
    'idle timeout': describeDuration(policy.idleTimeoutMs),
    retries: retries === undefined ? 'none' : `${retries.attempts} on ${retries.on.join(', ')}`,
    'body limit': policy.bodyLimitBytes === undefined ? 'default' : formatByteSize(policy.bodyLimitBytes),
    websocket: policy.websocket ? 'yes' : 'no',
    'upstream auth': policy.upstreamAuth,
    headers: describeHeaders(policy.headers),
  }
}

function describeDuration(ms: number | undefined): string {
  return ms === undefined ? 'default' : formatDuration(ms)
}

function describeHeaders(rules: HeaderRules | undefined): string {
  if (rules === undefined) return 'none'
  const way = (name: string, { set, add, remove }: HeaderChanges): readonly string[] => [
    ...remove.map((header) => `${name}: remove ${header}`),
    ...set.map((header) => `${name}: set ${header.name} to ${JSON.stringify(header.value)}`),
    ...add.map((header) => `${name}: add ${header.name} ${JSON.stringify(header.value)}`),
  ]
  const parts = [...way('request', rules.request), ...way('response', rules.response)]
  return parts.length === 0 ? 'none' : parts.join(', ')
}
