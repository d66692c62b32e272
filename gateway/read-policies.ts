import { ConfigError } from '../runtime/config-error.ts'
import { hasErrors } from '../runtime/diagnostic.ts'
import type { Logger } from '../runtime/logger.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import { authorizationServersAmong } from './routes/authorization-servers.ts'
import { findEmptyResources } from './routes/find-empty-resources.ts'
import { type LoadedPolicies, loadPolicies } from './routes/load-policies.ts'
import type { Resources } from './routes/resources.ts'

/**
 * Reads the policies that the gateway starts with, and logs their warnings.
 * @throws {ConfigError} for policies that are not valid.
 */
export function readPolicies(config: GatewayConfig, resources: Resources, logger: Logger): LoadedPolicies {
  const policies = loadPolicies({
    dir: config.policiesDir,
    catalogue: config.catalogue,
    upstreams: new Set(config.upstreams.map((upstream) => upstream.name)),
    authorizationServers: authorizationServersAmong(config.upstreams, {
      named: config.authorizationServer?.upstream,
      endpoints: config.issuers.flatMap(({ introspection }) =>
        introspection === undefined ? [] : [introspection.endpoint],
      ),
    }),
  })
  if (hasErrors(policies.diagnostics)) throw new ConfigError(policies.diagnostics)
  const empty = findEmptyResources(resources, policies.routes, 'gateway.yaml')
  for (const warning of [...policies.diagnostics, ...empty])
    logger.warn({ event: 'policy_warning', code: warning.code, place: warning.place }, warning.message)
  return policies
}

/** How many routes each policy has, by the names of the policies. */
export function countRoutes(policies: LoadedPolicies): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { policy } of policies.routes) counts.set(policy, (counts.get(policy) ?? 0) + 1)
  return counts
}
