import type { GatewayConfig } from '../config/gateway-config.ts'
import { toResourceOptions } from '../config/to-resources.ts'
import type { ActivePolicies } from '../snapshot/reload/policy-holder.ts'

/**
 * What `GET /policies` answers: everything that decides, so that whoever reads it decides the same: routes as policies
 * say them, what scopes are as good as which, and what `compileResources` makes the resources of.
 */
export function describePolicies(policies: ActivePolicies, config: GatewayConfig): string {
  return JSON.stringify({
    hash: policies.hash,
    routes: policies.routes,
    implication: Object.fromEntries(policies.implication),
    resources: toResourceOptions(config),
    limits: { targetBytes: config.limits.targetBytes, tokenBytes: config.limits.tokenBytes },
  })
}
