import { canonicalTarget, type TargetRules } from '../match/canonical-target.ts'
import type { Rewrite } from './compile-rewrite.ts'
import type { Refusal } from './refusal.ts'

/**
 * Builds the rewritten path of the upstream request. The result must be canonical.
 * Parameters of the request therefore cannot lead out of the base path of the upstream.
 * @returns the path, or `request_malformed` or `target_too_long`.
 */
export function rewritePath(
  rewrite: Rewrite,
  params: Readonly<Record<string, string>>,
  rules: TargetRules,
): string | Refusal {
  const path = rewrite(params)
  const target = canonicalTarget(path, rules)
  if ('refused' in target) return target
  if (target.path === path && target.query === '') return path
  return { refused: 'request_malformed', detail: 'The path cannot be rewritten unambiguously.' }
}
