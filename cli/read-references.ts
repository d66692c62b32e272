import { join } from 'node:path'
import { GatewayFile } from '../gateway/config/gateway-file.ts'
import { UpstreamsFile } from '../gateway/config/upstreams-file.ts'
import type { ScopeCatalogue } from '../oauth/scope.ts'
import { readConfig } from '../platform/config/read-config.ts'
import { readScopeCatalogue } from '../platform/config/read-scope-catalogue.ts'
import { collectProblems } from '../platform/diagnostics/collect-problems.ts'
import type { Diagnostic } from '../platform/diagnostics/diagnostic.ts'
import { type Presets, readPresets } from '../policy-engine/format/presets.ts'
import { authorizationServersOf } from './open-policy-set.ts'

/** The names that a policy can refer to, independent of existing policies. */
export type PolicyReferences = {
  readonly catalogue: ScopeCatalogue | undefined
  readonly upstreams: ReadonlySet<string> | undefined
  readonly authorizationServers: ReadonlySet<string> | undefined
  readonly presets: Presets | undefined
  readonly problems: readonly Diagnostic[]
}

/** Reads scopes, upstreams and presets from the configuration. Needs no secrets. `scopesFile` is the file of the scopes. */
export function readReferences(
  configDir: string,
  env: Readonly<Record<string, string | undefined>>,
): PolicyReferences & { readonly scopesFile: string } {
  const { found, attempt } = collectProblems()
  const gateway = attempt(() =>
    readConfig({
      file: join(configDir, 'gateway.yaml'),
      schema: GatewayFile,
      env,
      otherSections: ['UPSTREAMS'],
    }),
  )?.value
  const scopesFile = gateway?.scopes ?? join(configDir, 'scopes.yaml')
  const catalogue = attempt(() => readScopeCatalogue({ file: scopesFile }))
  const upstreams = attempt(() =>
    readConfig({
      file: gateway?.upstreams ?? join(configDir, 'upstreams.yaml'),
      schema: UpstreamsFile,
      env,
      section: 'UPSTREAMS',
    }),
  )?.value
  const presetsFile = gateway?.presets
  return {
    catalogue,
    presets: presetsFile === undefined ? undefined : attempt(() => readPresets(presetsFile)),
    upstreams: upstreams === undefined ? undefined : new Set(Object.keys(upstreams)),
    authorizationServers: authorizationServersOf(gateway, upstreams),
    scopesFile,
    problems: found,
  }
}
