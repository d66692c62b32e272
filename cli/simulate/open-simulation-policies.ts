import type { GatewayFile } from '../../gateway/config/gateway-file.ts'
import { toIssuerConfig } from '../../gateway/config/to-gateway-config.ts'
import type { SimulationPolicies } from '../../gateway/simulate/simulate.ts'
import type { JwtRules } from '../../gateway/tokens/jwt/jwt-rules.ts'
import type { ParsedArguments } from '../command.ts'
import { usageError } from '../failures.ts'
import { findFolders, noteShippedConfig } from '../find-folders.ts'
import { fetchLivePolicies } from '../live-policies.ts'
import { openOrReport, type PolicySet } from '../open-policy-set.ts'
import type { Terminal } from '../terminal.ts'
import { developmentEnv } from './development-env.ts'

/**
 * Opens the policies that `--url`, `--config` and `--policies` name.
 * @returns undefined when the policies are not valid. This function has then printed the problems. The exit code is 3.
 * @throws {BootError} when a running gateway does not return its policies, or when `--url` is combined with another of
 * these options.
 */
export async function openSimulationPolicies(
  command: string,
  given: ParsedArguments,
  terminal: Terminal,
): Promise<SimulationPolicies | undefined> {
  const url = given.text('url')
  if (url === undefined) {
    const folders = findFolders(given, terminal)
    noteShippedConfig(folders, terminal)
    // The output of `routes` contains no address of the gateway, so PORT does not apply.
    const env = command === 'explain' ? developmentEnv(terminal.env, folders.configDir) : terminal.env
    const set = await openOrReport(folders, given, { ...terminal, env })
    return set && toSimulationPolicies(set)
  }
  // Only `routes` accepts `--source` with `--url`.
  const other = ['config', 'policies', ...(command === 'routes' ? [] : ['source'])].find((name) =>
    given.has(name),
  )
  if (other !== undefined) throw usageError(command, `use either --url or --${other}`)
  return fetchLivePolicies(url)
}

/** Adds the rules of the configuration for JWTs and for the pages of the gateway. */
export function toSimulationPolicies(set: PolicySet): SimulationPolicies {
  return {
    ...set,
    jwtRulesOf: (issuer) => jwtRulesOf(set.gateway, issuer),
    servesPages: set.gateway.docs?.enabled,
  }
}

/**
 * Returns the gateway's rules for JWTs of an issuer. Undefined when the gateway does not accept JWTs of this issuer.
 */
function jwtRulesOf({ issuers, baseUrl }: GatewayFile, issuer: unknown): JwtRules | undefined {
  const entry = issuers.find((one) => one.issuer === issuer)
  const jwt = entry && toIssuerConfig(entry, { clientSecret: undefined, ca: undefined }).jwt
  return jwt && { ...jwt, issuer: entry.issuer, algorithms: new Set(jwt.algorithms), resource: baseUrl }
}
