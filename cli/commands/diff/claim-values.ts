import type { Condition, Literal } from '../../../policy-engine/load/policy-route.ts'

/** A text that policies are not expected to contain. It represents all values that the conditions do not name. */
export const ELSEWHERE = '\u2603'

/**
 * Returns values of a claim that distinguish conditions: all literals, texts that globs match alone and together, and
 * one other value.
 * @param texts values of the request that conditions compare with the claim.
 */
export function tellingValues(
  conditions: readonly Condition[],
  texts: readonly string[],
): readonly Literal[] {
  const values = new Set<Literal>([ELSEWHERE, ...texts])
  const globs: string[] = []
  for (const { test } of conditions) {
    if ('equals' in test && typeof test.equals !== 'object') values.add(test.equals)
    if ('in' in test) for (const one of test.in) if (typeof one !== 'object') values.add(one)
    if ('matches' in test) globs.push(test.matches)
  }
  for (const glob of globs) {
    values.add(glob.replaceAll('*', ''))
    // A text that only a `*` matches. A glob that matches it also matches everything that this glob matches.
    values.add(glob.replaceAll('*', ELSEWHERE))
    for (const other of globs) values.add(glob.replaceAll('*', other.replaceAll('*', '')))
  }
  return [...values]
}
