import { type Explanation, explainDecision } from '../../policy-engine/decide/explain-decision.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { type ExplainedCors, explainCors } from './explain-cors.ts'
import { nearestRoute } from './nearest-route.ts'
import type { SimulatedRequest, Simulation, SimulationPolicies } from './simulate.ts'

export type ExplainedSimulation = Simulation & {
  readonly simulated: SimulatedRequest
  readonly explanation: Explanation | undefined
  /** The most similar route, for a path without a route. */
  readonly nearest: PolicyRoute | undefined
  /** Set for a preflight, and for a route with `cors`. */
  readonly cors: ExplainedCors | undefined
}

/** Explains a simulation. `explanation` is undefined when the request is malformed. */
export function explainSimulation(
  simulated: SimulatedRequest,
  simulation: Simulation,
  policies: SimulationPolicies,
): ExplainedSimulation {
  const { request, caller } = simulation
  const explanation =
    request === undefined
      ? undefined
      : explainDecision(simulation.decision, request, caller, policies.compiled)
  const nearest =
    simulation.decision.refusal?.refused === 'route_unknown' && request !== undefined
      ? nearestRoute(
          request.canonical.path,
          policies.compiled.routes.map(({ policy }) => policy),
        )
      : undefined
  const cors = request && explainCors(request, simulation.decision)
  return { ...simulation, simulated, explanation, nearest, cors }
}
