import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'
import type { PolicyTest, TestPart } from '../../policy-engine/format/policy-test.ts'
import { explainSimulation } from './explain-simulation.ts'
import { type ExplanationRow, explainRows } from './explanation-rows.ts'
import {
  type SimulatedRequest,
  type Simulation,
  type SimulationPolicies,
  simulate,
  UnusableClaimsError,
} from './simulate.ts'

export type TestResult = {
  readonly test: PolicyTest
  /** Empty when the test passes. Codes T401 to T406. */
  readonly failures: readonly Diagnostic[]
  /** The simulation; undefined when the claims of its token are invalid. */
  readonly simulation: Simulation | undefined
}

/** Runs policy tests with the decision function of the gateway. Pure. */
export function runPolicyTests(
  tests: readonly PolicyTest[],
  policies: SimulationPolicies,
  nowSeconds: number,
): readonly TestResult[] {
  return tests.map((test) => runPolicyTest(test, policies, nowSeconds))
}

/** Explains the decision of a test rule by rule. Empty when the test has no decision. */
export function explainTest(
  { test, simulation }: TestResult,
  policies: SimulationPolicies,
  nowSeconds: number,
): readonly ExplanationRow[] {
  if (simulation === undefined) return []
  return explainRows(explainSimulation(requestOf(test), simulation, policies), nowSeconds)
}

/** Returns the name of the route that a test expects. */
export function expectedRoute({ policy, expect: { route } }: PolicyTest): string | undefined {
  return route?.includes('/') === false ? `${policy}/${route}` : route
}

/** Returns the request of a test, with default values for the claims that each valid token needs. */
function requestOf({ request, token }: PolicyTest): SimulatedRequest {
  const { method, path, headers, mode } = request
  return { method, target: path, headers: Object.entries(headers), claims: token, isCompleted: true, mode }
}

export function runPolicyTest(
  test: PolicyTest,
  policies: SimulationPolicies,
  nowSeconds: number,
): TestResult {
  try {
    const simulation = simulate(requestOf(test), policies, nowSeconds)
    return { test, failures: compare(test, simulation), simulation }
  } catch (error) {
    if (!(error instanceof UnusableClaimsError)) throw error
    const failure = fail(test, 'T406', 'token', 'the claims are not valid in a token', error.message)
    return { test, failures: [failure], simulation: undefined }
  }
}

/**
 * Compares the expected results of a test with the simulation. If the decision is wrong, returns only the difference of
 * the decision, because a wrong decision causes the other differences. Otherwise returns all differences.
 */
function compare(test: PolicyTest, simulation: Simulation): readonly Diagnostic[] {
  const { expect } = test
  const { decision, response } = simulation
  if (decision.outcome !== expect.decision)
    return [
      {
        ...fail(
          test,
          'T401',
          'decision',
          `the decision is ${decision.outcome}, not ${expect.decision}`,
          describe(simulation),
        ),
        related: matchedRoute(simulation),
      },
    ]
  const differ = (
    code: string,
    what: keyof PolicyTest['expect'],
    got: unknown,
    wanted: unknown = expect[what],
  ): readonly Diagnostic[] =>
    wanted === undefined || JSON.stringify(got) === JSON.stringify(wanted)
      ? []
      : [fail(test, code, what, `${what} differs`, `got ${got === undefined ? 'none' : JSON.stringify(got)}`)]
  if (isDeniedWithoutRoute(simulation, expect))
    return [
      fail(
        test,
        'T404',
        'decision',
        'no route matches, so no policy denies the request',
        `got ${response?.status}; correct the request, or expect status: ${response?.status}`,
      ),
    ]
  return [
    ...differ('T402', 'as', decision.as),
    ...differ('T403', 'status', response?.status),
    ...differ('T403', 'error', response?.error),
    ...differ('T403', 'missing', missingOf(simulation)),
    ...differ('T404', 'route', decision.route?.policy.name, expectedRoute(test)),
    ...differ('T405', 'upstreamPath', decision.upstreamPath),
  ]
}

/**
 * Returns true for a denial without a route, if the test expects only the decision. Such a test passes with any
 * policies, e.g. for a mistyped path.
 */
function isDeniedWithoutRoute(
  { decision }: Simulation,
  { status, error, route }: PolicyTest['expect'],
): boolean {
  const isMeant = status !== undefined || error !== undefined || route !== undefined
  return decision.outcome === 'deny' && decision.route === undefined && !isMeant
}

function missingOf({ decision: { rejection } }: Simulation): readonly string[] | undefined {
  return rejection?.rejected === 'scope_missing' ? rejection.missing : undefined
}

function describe({ decision, response }: Simulation): string {
  if (response === undefined) return decision.as === undefined ? 'got allow' : `got allow, as ${decision.as}`
  return `got ${decision.outcome}: ${response.status} ${response.error}`
}

function matchedRoute({ decision: { route } }: Simulation): Diagnostic['related'] {
  if (route === undefined) return []
  const { name, source } = route.policy
  const location: SourceLocation = { ...source, length: 1, text: undefined }
  return [{ message: `the request matches ${name}`, location }]
}

function fail(test: PolicyTest, code: string, what: TestPart, message: string, hint: string): Diagnostic {
  const location = test.locations[what] ?? { ...test.source, length: 1, text: undefined }
  return diagnostic(code, `${JSON.stringify(test.it)}: ${message}`, location, { hint })
}
