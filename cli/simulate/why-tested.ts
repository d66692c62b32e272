import { explainSimulation } from './explain-simulation.ts'
import { renderReasons } from './render-explanation.ts'
import type { TestResult } from './run-policy-tests.ts'
import type { SimulationPolicies } from './simulate.ts'

/** Explains the decision of a test, in the lines of `explain`. Empty when the test has no decision. */
export function whyTested(
  { test, simulation }: TestResult,
  policies: SimulationPolicies,
  nowSeconds: number,
): string {
  if (simulation === undefined) return ''
  const { method, path, headers } = test.request
  const request = {
    method,
    target: path,
    headers: Object.entries(headers),
    claims: test.token,
    isCompleted: true,
  }
  return renderReasons(explainSimulation(request, simulation, policies), nowSeconds)
}
