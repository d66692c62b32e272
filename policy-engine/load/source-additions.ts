import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { PolicyFolder } from './policy-sources.ts'
import type { PolicySource } from './source-permissions.ts'

export type OwnUpstream = { readonly name: string; readonly urls: readonly string[] }

/** The upstreams and scopes that a policy source defines in `upstreams.yaml` and `scopes.yaml` of its folder. */
export type SourceAdditions<U extends OwnUpstream> = {
  /** Each upstream has the name that the policies of the source use. */
  readonly upstreams: readonly U[]
  readonly scopes: ScopeCatalogue
  /** Names of the upstreams of the source that lead to the authorization server. */
  readonly authorizationServers: ReadonlySet<string>
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads and checks the additions of one version of a source. Pure. */
export type ReadAdditions<U extends OwnUpstream> = (
  source: PolicySource,
  folder: PolicyFolder,
) => SourceAdditions<U>

/**
 * Returns the name that the gateway gives to an upstream of a source. The policies of the source use the name without
 * the prefix. The prefix and the slash make the name unique: names of the operator contain no slash.
 */
export function ownUpstreamName(source: string, name: string): string {
  return `${source}/${name}`
}
