import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { diagnostic, hasErrors, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import type { Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { PolicyTest } from '../format/policy-test.ts'
import { type LoadedPolicies, type LoadPoliciesOptions, loadPoliciesSliced } from './load-policies.ts'
import type { PolicyRoute } from './policy-route.ts'
import { type PolicyFolder, SOURCE_LIMITS, type SourceFiles } from './policy-sources.ts'
import { findSharedServices, type SharedServices, type UpstreamAddresses } from './shared-services.ts'
import {
  checkPath,
  checkPermissions,
  type PolicySource,
  type PrefixOwners,
  prefixesWithin,
  prefixOwners,
} from './source-permissions.ts'

/**
 * The state of one policy source. Plain data, because workers send it to the supervisor.
 * - `valid`: the files on the disk are active.
 * - `kept`: the files on the disk are not valid, and the last valid version is active.
 * - `unavailable`: no version is valid, and the gateway responds 503 for the prefixes of the source.
 */
export type SourceState = {
  readonly name: string
  readonly owner: string | undefined
  readonly state: 'valid' | 'kept' | 'unavailable'
  /** SHA-256 of the active version. undefined: the source has no active version. */
  readonly version: string | undefined
  readonly routes: number
  readonly pathPrefixes: readonly string[]
  /** The errors of the files on the disk. */
  readonly errors: readonly Diagnostic[]
}

/** A prefix of a source without a valid version. */
export type UnavailablePrefix = {
  readonly source: string
  readonly prefix: string
  /** Longer prefixes of other sources. */
  readonly excludedPrefixes: readonly string[]
}

/** The policies of all sources. Problems of one source do not affect the routes of other sources. */
export type LoadedSources = {
  readonly routes: readonly PolicyRoute[]
  readonly tests: readonly PolicyTest[]
  readonly states: readonly SourceState[]
  readonly unavailable: readonly UnavailablePrefix[]
  /** Warnings about the active versions, and errors in the files on the disk. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Options for the checks of all sources. */
export type SourceOptions = Omit<LoadPoliciesOptions, 'dir' | 'sources' | 'permit'> & {
  /** The addresses of the upstreams. undefined: the addresses are unknown. */
  readonly addresses?: UpstreamAddresses | undefined
  /** Maximum number of routes of one source. Default: `SOURCE_LIMITS.routes`. */
  readonly maxRoutes?: number | undefined
}

/** Number of routes in one step. */
const STEP_ROUTES = 32

/**
 * Loads the policies of several sources. Each source is checked alone, so the result for one source does not depend on
 * the files of another source:
 * - each path belongs to at most one source, so routes of two sources never match the same request
 * - the name of the source is a part of the names of its policies and routes
 *
 * The last valid version replaces a version that is not valid. The last valid version passes the same checks again.
 * @param sources all sources. They determine the owner of each path.
 * @param files the files of the sources to load, with the same names.
 */
export function* loadPolicySourcesSliced(
  files: readonly SourceFiles[],
  sources: readonly PolicySource[],
  options: SourceOptions,
): Steps<LoadedSources> {
  const { maxRoutes = SOURCE_LIMITS.routes } = options
  const owners = prefixOwners(sources)
  const services = findSharedServices(sources, options.addresses)
  const routes: PolicyRoute[] = []
  const tests: PolicyTest[] = []
  const states: SourceState[] = []
  const unavailable: UnavailablePrefix[] = []
  const diagnostics: Diagnostic[] = []
  for (const { name, current, lastValid } of files) {
    const source = sources.find((one) => one.name === name)
    if (source === undefined) continue
    const load = function* (folder: PolicyFolder): Steps<LoadedPolicies> {
      const found = yield* loadPoliciesSliced({
        ...options,
        dir: source.folder,
        sources: folder,
        permit: (all, document) => checkPermissions(all, document, { source, owners, services }),
      })
      return found.routes.length > maxRoutes ? tooManyRoutes(found, source.folder, maxRoutes) : found
    }
    const loaded = yield* load(current)
    const isValid = !hasErrors(loaded.diagnostics)
    diagnostics.push(...loaded.diagnostics)
    let active: LoadedPolicies | undefined = isValid ? loaded : undefined
    if (!isValid && lastValid !== undefined) {
      const kept = yield* load(lastValid)
      if (!hasErrors(kept.diagnostics)) active = kept
    }
    for (const [index, route] of (active?.routes ?? []).entries()) {
      if (index % STEP_ROUTES === 0) yield
      routes.push(toSourceRoute(route, source, owners, services))
    }
    tests.push(...(active?.tests ?? []).map((test) => toSourceTest(test, name)))
    if (active === undefined)
      for (const prefix of source.permissions.pathPrefixes)
        unavailable.push({ source: name, prefix, excludedPrefixes: prefixesWithin(prefix, name, owners) })
    states.push({
      name,
      owner: source.owner,
      state: isValid ? 'valid' : active === undefined ? 'unavailable' : 'kept',
      version: active?.hash,
      routes: active?.routes.length ?? 0,
      pathPrefixes: source.permissions.pathPrefixes,
      errors: loaded.diagnostics.filter(({ severity }) => severity === 'error'),
    })
  }
  return { routes, tests, states, unavailable, diagnostics }
}

function tooManyRoutes(loaded: LoadedPolicies, folder: string, limit: number): LoadedPolicies {
  const message = `the policies have more than ${limit} routes`
  const problem = diagnostic('P007', message, wholeFile(displayPath(folder)), {
    hint: 'remove routes, or divide them over several sources',
  })
  return { ...loaded, routes: [], tests: [], diagnostics: [...loaded.diagnostics, problem] }
}

function toSourceRoute(
  route: PolicyRoute,
  source: PolicySource,
  owners: PrefixOwners,
  services: SharedServices,
): PolicyRoute {
  const checked = checkPath(route.path, source, owners)
  if ('message' in checked) throw new Error(checked.message)
  return Object.freeze({
    ...route,
    name: `${source.name}/${route.name}`,
    policy: `${source.name}/${route.policy}`,
    owner: source.owner ?? route.owner,
    policySource: source.name,
    excludedPrefixes: Object.freeze(checked.excluded),
    sharesUpstream: services.neighboursOf(source, route.upstream).length > 0,
  })
}

function toSourceTest(test: PolicyTest, source: string): PolicyTest {
  const { route } = test.expect
  const isOfPolicy = route?.split('/').length === 2
  return Object.freeze({
    ...test,
    policy: `${source}/${test.policy}`,
    expect: isOfPolicy ? Object.freeze({ ...test.expect, route: `${source}/${route}` }) : test.expect,
  })
}
