import type { DecisionLimits } from '../../policy-engine/decide/decide.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import { toResourceOptions } from '../config/to-resources.ts'
import type { ActivePolicies } from '../snapshot/reload/policy-holder.ts'

/**
 * Returns the body of `GET /policies`. It contains everything that a reader needs for the same decisions: the routes in
 * policy format, the scope implications, and the input of `compileResources`.
 */
export function describePolicies(policies: ActivePolicies, config: GatewayConfig): string {
  const { targetBytes, tokenBytes, bodyBytes } = config.limits
  return JSON.stringify({
    hash: policies.hash,
    routes: policies.routes,
    implication: Object.fromEntries(policies.implication),
    resources: toResourceOptions(config),
    limits: { targetBytes, tokenBytes, bodyBytes } satisfies DecisionLimits,
  })
}
