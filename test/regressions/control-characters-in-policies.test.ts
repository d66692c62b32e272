import t from 'tap'
import { comparePolicies } from '../../cli/commands/diff/compare-policies.ts'
import { renderDiff } from '../../cli/commands/diff/render-diff.ts'
import { renderFinding } from '../../cli/commands/doctor/doctor.ts'
import { renderRoutes } from '../../cli/commands/routes/routes.ts'
import { compilePolicies } from '../../policy-engine/decide/compile-policies.ts'
import { aPolicyRoute } from '../fixtures/a-policy-route.ts'
import { testResources } from '../fixtures/test-resources.ts'

// Every contributor can propose owners and claims. Without an escape, a claim could move the cursor up and erase the
// WIDENED line of `scopegate diff`.

const WIPE = '\x1b[1A\x1b[2K\r\u202e'
const NOTHING_LIVE = /[^\P{Cc}\n]|\p{Cf}/u

t.test('policy text cannot control the terminal that shows it', async (t) => {
  const route = aPolicyRoute({ name: 'p/r', owner: `team${WIPE}`, anonymous: 'deny' })
  const source = { file: 'x', line: 1, column: 1 }
  const condition = { claim: `plan${WIPE}`, test: { exists: true }, source }
  const side = (when: readonly (typeof condition)[]) => ({
    policies: compilePolicies(
      { routes: [{ ...route, when }], hash: '' },
      { implication: new Map(), resources: testResources([]) },
    ),
    resourcePaths: [],
  })
  const table = renderRoutes([route])
  t.match(table, 'team\\u{1b}[1A')
  t.notMatch(table, NOTHING_LIVE)
  const diff = renderDiff(comparePolicies(side([condition]), side([])), { colour: false })
  t.match(diff, /plan\\u\{1b\}.*WIDENED/)
  t.notMatch(diff, NOTHING_LIVE)
})

t.test('doctor prints no control characters of a server', async (t) => {
  const shown = renderFinding(
    {
      level: 'fault',
      check: 'issuer',
      where: `http://x/${WIPE}`,
      says: `it says ${WIPE}`,
      remedy: `not ${WIPE}`,
    },
    false,
  )
  t.match(shown, 'it says \\u{1b}[1A')
  t.notMatch(shown, NOTHING_LIVE)
})
