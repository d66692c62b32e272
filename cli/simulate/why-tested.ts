import { explainSimulation } from './explain-simulation.ts'
import { renderReasons } from './render-explanation.ts'
import type { TestResult } from './run-policy-tests.ts'
import type { SimulationPolicies } from './simulate.ts'

/** Why the request of a test was decided on as it was, in the lines of `explain`; empty when it was not. */
export function whyTested(
  { test, trial }: TestResult,
  policies: SimulationPolicies,
  nowSeconds: number,
): string {
  if (trial === undefined) return ''
  const { method, path, headers } = test.request
  const request = {
    method,
    target: path,
    headers: Object.entries(headers),
    claims: test.token,
    isCompleted: true,
  }
  return renderReasons(explainSimulation(request, trial, policies), nowSeconds)
}
