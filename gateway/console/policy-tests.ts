import { formatDiagnostics } from '../../platform/diagnostics/format-diagnostics.ts'
import { runSliced, type Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { DecisionLimits } from '../../policy-engine/decide/decide.ts'
import type { PolicyTest } from '../../policy-engine/format/policy-test.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { readPathTemplate } from '../../policy-engine/match/path-template.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import type { ExplanationRow } from '../simulate/explanation-rows.ts'
import { expectedRoute, explainTest, runPolicyTest } from '../simulate/run-policy-tests.ts'
import type { SimulationPolicies } from '../simulate/simulate.ts'
import { snapshotPolicies } from '../simulate/snapshot-policies.ts'
import { describeLocation } from '../snapshot/reload/describe-location.ts'
import type { Snapshot } from '../snapshot/route.ts'

/** Maximum number of tests in one reply. */
export const MAX_TESTS = 40
/** A reply contains no further tests when its tests have this length as JSON. The claims of one test can have 256 KiB. */
const MAX_REPORT_CHARACTERS = 131_072

/** Numbers of tests. */
export type TestCounts = { readonly passed: number; readonly failed: number }

/** The number of tests of each route with tests. Plain data. */
export type TestSummary = {
  readonly hash: string
  readonly routes: Readonly<Record<string, TestCounts>>
  /** Tests that neither name a route nor match a route. */
  readonly withoutRoute: TestCounts
}

/** The tests of one route. Plain data. */
export type RouteTests = TestCounts & {
  readonly hash: string
  /** Failed tests first, at most `MAX_TESTS`. Fewer tests if they are long. */
  readonly tests: readonly TestReport[]
  /** Text of a test that passes, for a route without tests. null: the route has tests, or needs more than scopes. */
  readonly example: string | null
}

export type TestReport = Pick<PolicyTest, 'it' | 'request' | 'expect'> & {
  /** null: the request has no token. */
  readonly token: Readonly<Record<string, unknown>> | null
  readonly place: string
  /** null: the test passes. */
  readonly failure: {
    /** The differences with excerpts of the policy file, as `scopegate test` prints them. */
    readonly text: string
    readonly rules: readonly ExplanationRow[]
  } | null
}

export type PolicyTestRunner = {
  summary(): Promise<TestSummary>
  /** @param route the name of a route. undefined: the tests without a route. */
  testsOf(route: string | undefined): Promise<RouteTests>
}

type Run = {
  readonly policies: SimulationPolicies
  readonly nowSeconds: number
  /** The failed and the passed tests of each route. The key of the tests without a route is undefined. */
  readonly byRoute: ReadonlyMap<string | undefined, Entries>
}
type Entries = { readonly failed: PolicyTest[]; readonly passed: PolicyTest[] }
const NO_ENTRIES: Entries = { failed: [], passed: [] }

/**
 * Runs the tests of the active policies once for each snapshot, in slices between requests, when a page first needs the
 * results.
 */
export function createPolicyTestRunner(parts: {
  readonly config: { readonly limits: DecisionLimits; readonly docs: { readonly enabled: boolean } }
  readonly resources: Resources
  readonly snapshot: () => Snapshot
  readonly tests: () => readonly PolicyTest[]
}): PolicyTestRunner {
  const runs = new WeakMap<Snapshot, Promise<Run>>()

  function findRun(snapshot: Snapshot): Promise<Run> {
    const known = runs.get(snapshot)
    if (known !== undefined) return known
    const { config, resources } = parts
    const policies = {
      compiled: snapshotPolicies(snapshot),
      resources,
      limits: config.limits,
      servesPages: config.docs.enabled,
    }
    const run = runSliced(runTests(parts.tests(), policies))
    runs.set(snapshot, run)
    return run
  }

  return {
    async summary() {
      const snapshot = parts.snapshot()
      const { byRoute } = await findRun(snapshot)
      const routes = [...byRoute].flatMap(([name, entries]) =>
        name === undefined ? [] : [[name, countsOf(entries)] as const],
      )
      return {
        hash: snapshot.policyHash,
        routes: Object.fromEntries(routes),
        withoutRoute: countsOf(byRoute.get(undefined) ?? NO_ENTRIES),
      }
    },
    async testsOf(name) {
      const snapshot = parts.snapshot()
      const run = await findRun(snapshot)
      const entries = run.byRoute.get(name)
      const shown = [...(entries?.failed ?? []), ...(entries?.passed ?? [])].slice(0, MAX_TESTS)
      return {
        hash: snapshot.policyHash,
        ...countsOf(entries ?? NO_ENTRIES),
        tests: await runSliced(reportTests(shown, run)),
        example: entries === undefined ? exampleOf(name, run) : null,
      }
    },
  }
}

function countsOf({ passed, failed }: Entries): TestCounts {
  return { passed: passed.length, failed: failed.length }
}

function* runTests(tests: readonly PolicyTest[], policies: SimulationPolicies): Steps<Run> {
  const names = new Set(policies.compiled.routes.map(({ policy }) => policy.name))
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const byRoute = new Map<string | undefined, Entries>()
  for (const test of tests) {
    yield
    const { failures, simulation } = runPolicyTest(test, policies, nowSeconds)
    const expected = expectedRoute(test)
    const isKnown = expected !== undefined && names.has(expected)
    const name = isKnown ? expected : simulation?.decision.route?.policy.name
    const entries = byRoute.get(name) ?? { failed: [], passed: [] }
    entries[failures.length > 0 ? 'failed' : 'passed'].push(test)
    byRoute.set(name, entries)
  }
  return { policies, nowSeconds, byRoute }
}

/** Runs the tests again, because a run does not keep its explanations. */
function* reportTests(
  tests: readonly PolicyTest[],
  { policies, nowSeconds }: Run,
): Steps<readonly TestReport[]> {
  const reports: TestReport[] = []
  let characters = 0
  for (const test of tests) {
    if (characters > MAX_REPORT_CHARACTERS) break
    yield
    const result = runPolicyTest(test, policies, nowSeconds)
    const { it, request, expect, token = null, source } = test
    const failure =
      result.failures.length === 0
        ? null
        : { text: formatDiagnostics(result.failures), rules: explainTest(result, policies, nowSeconds) }
    const place = describeLocation({ ...source, length: 1, text: undefined })
    const report = { it, request, token, expect, place, failure }
    characters += JSON.stringify(report).length
    reports.push(report)
  }
  return reports
}

/** Returns a test of a route, if the test passes. A caller of other routes needs more than the scopes. */
function exampleOf(name: string | undefined, { policies, nowSeconds }: Run): string | null {
  const route = policies.compiled.routes.find(({ policy }) => policy.name === name)?.policy
  if (route === undefined) return null
  const test = toExample(route)
  if (runPolicyTest(test, policies, nowSeconds).failures.length > 0) return null
  const { it, request, token } = test
  const headers = route.matchHeaders.length === 0 ? '' : `, headers: ${JSON.stringify(request.headers)}`
  return `tests:
  - it: ${it}
    request: { method: ${request.method}, path: ${JSON.stringify(request.path)}${headers} }
${token === undefined ? '' : `    token: { scope: ${JSON.stringify(token['scope'])} }\n`}    expect: { decision: allow, route: ${route.name.split('/').at(-1)} }
`
}

function toExample({ name, policy, path, methods, matchHeaders, scopes, source }: PolicyRoute): PolicyTest {
  const { segments, below } = readPathTemplate(path)
  const texts = segments.map((one) => ('literal' in one ? one.literal : '1'))
  return {
    it: scopes === undefined ? 'allows a request without a token' : 'allows a token with the scopes',
    policy,
    request: {
      method: methods[0] ?? 'GET',
      path: `/${[...texts, ...(below ? ['1'] : [])].join('/')}`,
      headers: Object.fromEntries(matchHeaders.map((one) => [one.name, one.value])),
    },
    token: scopes && { scope: [...scopes.all, ...scopes.any.slice(0, 1)].join(' ') },
    expect: { decision: 'allow', route: name },
    source,
    locations: {},
  }
}
