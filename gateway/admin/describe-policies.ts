import type { DecisionLimits } from '../../policy-engine/decide/decide.ts'
import type { SourceState } from '../../policy-engine/load/load-policy-sources.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import { toResourceOptions } from '../config/to-resources.ts'
import { describeLocation } from '../snapshot/reload/describe-location.ts'
import type { ActivePolicies } from '../snapshot/reload/policy-holder.ts'

/**
 * Returns the body of `GET /policies`. With this data, a reader can make the same decisions as the gateway. The body
 * contains the routes in policy format, the scope implications, and the input of `compileResources`.
 */
export function describePolicies(policies: ActivePolicies, config: GatewayConfig): string {
  const { targetBytes, tokenBytes, bodyBytes } = config.limits
  return JSON.stringify({
    hash: policies.hash,
    routes: policies.routes,
    unavailable: policies.unavailable,
    sources: policies.sources.map(sourceToJson),
    implication: Object.fromEntries(policies.implication),
    resources: toResourceOptions(config),
    limits: { targetBytes, tokenBytes, bodyBytes } satisfies DecisionLimits,
    servesPages: config.docs.enabled,
  })
}

export function sourceToJson({ name, owner, state, version, routes, pathPrefixes, errors }: SourceState) {
  const [first] = errors
  return {
    name,
    owner: owner ?? null,
    state,
    version: version ?? null,
    routes,
    pathPrefixes,
    errors: errors.length,
    error:
      first === undefined
        ? null
        : { code: first.code, message: first.message, place: describeLocation(first.location) },
  }
}
