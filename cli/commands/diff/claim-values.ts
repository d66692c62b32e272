import type { Condition, Literal } from '../../../policy-engine/load/condition.ts'

/** A text that no policy is expected to spell out: it stands for whatever none of the conditions names. */
export const ELSEWHERE = '\u2603'

/**
 * Values of a claim that tell conditions apart: each one that is spelt out, texts that globs match, alone and together, and
 * one that is none of these.
 * @param texts what values of the request the claim is compared with.
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
    // What only a `*` matches: a glob that matches it matches everything that this one does.
    values.add(glob.replaceAll('*', ELSEWHERE))
    for (const other of globs) values.add(glob.replaceAll('*', other.replaceAll('*', '')))
  }
  return [...values]
}
