import { canonicalTarget, type TargetRules } from '../match/canonical-target.ts'
import type { Rewrite } from './compile-rewrite.ts'
import type { Refusal } from './refusal.ts'

/**
 * The path that the upstream is asked for instead of the one that was matched. What comes out has to be canonical again:
 * it stands below the upstream's base path, whatever the request's path held.
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
