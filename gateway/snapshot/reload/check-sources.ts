import type { ScopeCatalogue } from '../../../oauth/scope.ts'
import { readScopeCatalogue } from '../../../platform/config/read-scope-catalogue.ts'
import { collectProblems } from '../../../platform/diagnostics/collect-problems.ts'
import { type Diagnostic, hasErrors } from '../../../platform/diagnostics/diagnostic.ts'
import type { Steps } from '../../../platform/diagnostics/run-sliced.ts'
import {
  findEmptyResources,
  findUnknownBaselineScopes,
} from '../../../policy-engine/checks/check-resources.ts'
import type { PolicyTest } from '../../../policy-engine/format/policy-test.ts'
import { readPresets } from '../../../policy-engine/format/presets.ts'
import { authorizationServerFinder } from '../../../policy-engine/load/authorization-servers.ts'
import { loadPoliciesSliced } from '../../../policy-engine/load/load-policies.ts'
import {
  loadPolicySourcesSliced,
  type SourceState,
  type UnavailablePrefix,
} from '../../../policy-engine/load/load-policy-sources.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { PolicySources, SourceFiles } from '../../../policy-engine/load/policy-sources.ts'
import type { Resources } from '../../../policy-engine/match/resources.ts'
import type { GatewayConfig } from '../../config/gateway-config.ts'
import { readSourceAdditions, toSourceUpstream } from '../../config/source-additions.ts'
import type { UpstreamSettings } from '../../upstreams/upstream.ts'

const GATEWAY_FILE = 'gateway.yaml'
const NO_SCOPES: ScopeCatalogue = new Map()

/** Valid policies and their scope catalogue: the input of one snapshot. */
export type CheckedPolicies = {
  readonly routes: readonly PolicyRoute[]
  /** The tests in the policy files, for the console. Empty without a console. */
  readonly tests: readonly PolicyTest[]
  /** The scopes of the operator, followed by the scopes that policy sources define. */
  readonly catalogue: ScopeCatalogue
  readonly operatorCatalogue: ScopeCatalogue
  /** The upstreams that policy sources define. */
  readonly upstreams: readonly UpstreamSettings[]
  readonly hash: string
  readonly warnings: readonly Diagnostic[]
  /** The state of each policy source. Empty without policy sources. */
  readonly sources: readonly SourceState[]
  readonly unavailable: readonly UnavailablePrefix[]
}

/** Invalid policies and their diagnostics, which include at least one error. */
export type InvalidPolicies = { readonly hash: string; readonly problems: readonly Diagnostic[] }

/**
 * Validates all policies together. Without policy sources, or with `onInvalidPolicy: fail`, one error makes all
 * policies invalid. Otherwise an error in a policy source affects only this source. Pure.
 */
export function* checkSources(
  sources: PolicySources,
  {
    config,
    resources,
    hasConsole,
  }: { readonly config: GatewayConfig; readonly resources: Resources; readonly hasConsole: boolean },
): Steps<CheckedPolicies | InvalidPolicies> {
  const { hash } = sources
  const { found, attempt } = collectProblems()
  const { scopesFile, presetsFile } = config
  const catalogue =
    scopesFile === undefined || sources.scopes === undefined
      ? config.catalogue
      : attempt(() => readScopeCatalogue({ file: scopesFile, source: sources.scopes }))
  const presets =
    presetsFile === undefined || sources.presets === undefined
      ? config.presets
      : attempt(() => readPresets(presetsFile, sources.presets))
  // Stops if the presets are invalid. Otherwise each policy that extends a preset would get an error, although the
  // cause is in the presets.
  if (presets === undefined) return { hash, problems: found }
  const findAuthorizationServers = authorizationServerFinder(config.upstreams, {
    named: config.authorizationServer?.upstream,
    endpoints: config.issuers.flatMap(({ introspection }) =>
      introspection === undefined ? [] : [introspection.endpoint],
    ),
  })
  const options = {
    catalogue,
    presets,
    upstreams: new Set(config.upstreams.map((upstream) => upstream.name)),
    authorizationServers: findAuthorizationServers(config.upstreams),
    hasDecisions: config.decisions !== undefined,
    withTests: hasConsole,
  }
  const policies =
    sources.sources === undefined
      ? {
          ...(yield* loadPoliciesSliced({ ...options, dir: config.policiesDir, sources })),
          states: [],
          unavailable: [],
          upstreams: [],
          scopes: NO_SCOPES,
        }
      : yield* loadPolicySourcesSliced(filesOf(sources.sources, config), config.policySources, {
          ...options,
          addresses: new Map(config.upstreams.map(({ name, urls }) => [name, urls])),
          readAdditions: (source, folder) =>
            readSourceAdditions(source, folder, {
              catalogue,
              findAuthorizationServers,
              toUpstream: (name, entry) => toSourceUpstream(source.name, name, entry),
            }),
        })
  // With `onInvalidPolicy: keep`, the errors of a source do not affect the other sources.
  const isTolerated = sources.sources !== undefined && config.onInvalidPolicy === 'keep'
  found.push(...policies.diagnostics.filter(({ severity }) => !isTolerated || severity !== 'error'))
  if (catalogue !== undefined)
    found.push(...findUnknownBaselineScopes(config.resources, catalogue, GATEWAY_FILE))
  if (catalogue === undefined || hasErrors(found)) return { hash, problems: found }
  yield
  const empty = findEmptyResources(resources, policies.routes, GATEWAY_FILE)
  return {
    routes: policies.routes,
    tests: policies.tests,
    catalogue: policies.scopes.size === 0 ? catalogue : new Map([...catalogue, ...policies.scopes]),
    operatorCatalogue: catalogue,
    upstreams: policies.upstreams,
    hash,
    warnings: [...found, ...empty],
    sources: policies.states,
    unavailable: policies.unavailable,
  }
}

/**
 * Adds the sources without files. A worker that replaces a failed worker can read a configuration with a source that
 * the other workers do not have yet. This source is unavailable until the next reload.
 */
function filesOf(read: readonly SourceFiles[], { policySources }: GatewayConfig): readonly SourceFiles[] {
  return policySources.map(
    ({ name, folder }) =>
      read.find((one) => one.name === name) ?? {
        name,
        folder,
        current: { folder: { code: 'ENOENT' }, files: [] },
        lastValid: undefined,
      },
  )
}
