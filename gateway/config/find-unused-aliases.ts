import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { metadataAliases } from '../../policy-engine/match/authorization-server-routes.ts'
import type { GatewayFile } from './gateway-file.ts'
import { toResources } from './to-resources.ts'

/**
 * Reports C345 for aliases without effect: no resource with a path takes tokens of the bundled authorization server.
 */
export function findUnusedAliases(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  if (file.compat?.resourcePathAliases !== true) return []
  const aliases =
    file.authorizationServer === undefined ? [] : metadataAliases(toResources(file).all, file.baseUrl)
  if (aliases.length > 0) return []
  return [
    diagnostic(
      'C345',
      'compat.resourcePathAliases: has no effect, because no resource with a path accepts tokens of the bundled authorization server',
      wholeFile(shownAs),
      { hint: 'add such a resource to resources, or remove the key' },
    ),
  ]
}
