import t from 'tap'
import type { ConsoleState } from '../../../gateway/console/console-source.ts'
import { createHistory } from '../../../gateway/console/history.ts'
import { findProblems } from '../../../gateway/console/problems.ts'
import type { GatewayCheck } from '../../../gateway/observability/readiness-check.ts'

const NO_POLICY_PROBLEMS = { policies: { states: [], failure: undefined } } as unknown as ConsoleState

function adviceFor(check: Pick<GatewayCheck, 'kind' | 'name'>): string | undefined {
  const history = createHistory(0)
  history.add([], [{ ...check, ok: true, degraded: true }], 1_000)
  return findProblems(history, NO_POLICY_PROBLEMS, [])[0]?.doc
}

t.test('the advice depends on the kind of a check, not on names in the configuration', async (t) => {
  for (const [kind, name, doc] of [
    ['upstream_target', 'http://10.0.0.1 of upstream redis', 'runbooks/ScopegateTargetDown.md'],
    ['upstream_credentials', 'token for upstream redis', 'authenticate-at-upstreams.md'],
    ['issuer_keys', 'keys of https://a.test/redis', 'runbooks/ScopegateJwksRefreshFailed.md'],
    ['redis', 'revocation redis', 'runbooks/ScopegateRateLimiterFallback.md'],
    ['token_status', 'token status of https://a.test', 'management-port.md'],
  ] as const)
    t.equal(adviceFor({ kind, name }), doc, name)
})
