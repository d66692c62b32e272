import t from 'tap'
import { compareAuthentication } from '../../../../cli/commands/diff/compare-access.ts'
import { checkAuthentication } from '../../../../policy-engine/decide/check-authentication.ts'
import type { AuthenticationRule } from '../../../../policy-engine/load/policy-route.ts'

const CLASSES = [undefined, 'a', 'b', 'other']
const AGES_SECONDS = [undefined, 5, 15, 25]
const NOW_SECONDS = 1_000
const SIGN_INS = CLASSES.flatMap((acr) =>
  AGES_SECONDS.map((age) => {
    const claims = { acr, auth_time: age === undefined ? undefined : NOW_SECONDS - age }
    return new Map<string, string | number | undefined>(Object.entries(claims))
  }),
)
const RULES: readonly (AuthenticationRule | undefined)[] = [
  undefined,
  ...[[], ['a'], ['b'], ['a', 'b'], ['b', 'a']].flatMap((acr) =>
    [undefined, 10, 20]
      .filter((maxAgeSeconds) => acr.length > 0 || maxAgeSeconds !== undefined)
      .map((maxAgeSeconds) => ({ acr, maxAgeSeconds })),
  ),
]

t.test('diff reports exactly the kinds of sign-in that gain or lose access', async (t) => {
  const passes = (rule: AuthenticationRule | undefined) =>
    SIGN_INS.map(
      (claims) => rule === undefined || checkAuthentication(claims, rule, NOW_SECONDS) === undefined,
    )
  for (const old of RULES)
    for (const now of RULES) {
      const [before, after] = [passes(old), passes(now)]
      t.strictSame(
        compareAuthentication(old, now),
        {
          gains: after.some((passed, index) => passed && before[index] === false),
          loses: before.some((passed, index) => passed && after[index] === false),
        },
        JSON.stringify([old, now]),
      )
    }
})
