import { createHash } from 'node:crypto'
import type { ScopeCatalogue, ScopeDescription } from '../../oauth/scope.ts'
import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { diagnostic, hasErrors, sortDiagnostics, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import type { Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { PolicyTest } from '../format/policy-test.ts'
import { type LoadedPolicies, type LoadPoliciesOptions, loadPoliciesSliced } from './load-policies.ts'
import type { PolicyRoute } from './policy-route.ts'
import { isAdditionFile, type PolicyFolder, SOURCE_LIMITS, type SourceFiles } from './policy-sources.ts'
import { findSharedServices, type SharedServices, type UpstreamAddresses } from './shared-services.ts'
import {
  type OwnUpstream,
  ownUpstreamName,
  type ReadAdditions,
  type SourceAdditions,
} from './source-additions.ts'
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
export type LoadedSources<U extends OwnUpstream = OwnUpstream> = {
  readonly routes: readonly PolicyRoute[]
  /** The upstreams that the active versions define, with the names that routes refer to. */
  readonly upstreams: readonly U[]
  /** The scopes that the active versions define. */
  readonly scopes: ScopeCatalogue
  readonly tests: readonly PolicyTest[]
  readonly states: readonly SourceState[]
  readonly unavailable: readonly UnavailablePrefix[]
  /** Errors and warnings of the files on the disk. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Options for the checks of all sources. */
export type SourceOptions<U extends OwnUpstream = OwnUpstream> = Omit<
  LoadPoliciesOptions,
  'dir' | 'sources' | 'permit'
> & {
  /** The addresses of the upstreams. undefined: the addresses are unknown. */
  readonly addresses?: UpstreamAddresses | undefined
  /** Maximum number of routes of one source. Default: `SOURCE_LIMITS.routes`. */
  readonly maxRoutes?: number | undefined
  /** Reads the upstreams and scopes that a source defines. Default: sources define nothing. */
  readonly readAdditions?: ReadAdditions<U> | undefined
}

/** Number of routes in one step. */
const STEP_ROUTES = 32

/**
 * Loads the policies of several sources. Each source is checked alone, so the result for one source does not depend on
 * the files of another source:
 * - each path belongs to at most one source, so routes of two sources never match the same request
 * - the name of the source is a part of the names of its policies and routes
 *
 * If the files of a source are not valid, the last valid version stays active. This version must pass the same checks
 * again.
 * @param sources all sources. The sources determine the owner of each path.
 * @param files the files of the sources to load, with the same names.
 */
export function* loadPolicySourcesSliced<U extends OwnUpstream>(
  files: readonly SourceFiles[],
  sources: readonly PolicySource[],
  options: SourceOptions<U>,
): Steps<LoadedSources<U>> {
  const owners = prefixOwners(sources)
  const services = findSharedServices(sources, options.addresses)
  const routes: PolicyRoute[] = []
  const tests: PolicyTest[] = []
  const states: SourceState[] = []
  const unavailable: UnavailablePrefix[] = []
  const diagnostics: Diagnostic[] = []
  const upstreams: U[] = []
  const scopes = new Map<string, ScopeDescription>()
  for (const { name, current, lastValid } of files) {
    const source = sources.find((one) => one.name === name)
    if (source === undefined) continue
    const load = (folder: PolicyFolder): Steps<LoadedVersion<U>> =>
      loadVersion(folder, { source, owners, services, options })
    const loaded = yield* load(current)
    const isValid = !hasErrors(loaded.diagnostics)
    diagnostics.push(...loaded.diagnostics)
    let active: LoadedVersion<U> | undefined = isValid ? loaded : undefined
    if (!isValid && lastValid !== undefined) {
      const kept = yield* load(lastValid)
      if (!hasErrors(kept.diagnostics)) active = kept
    }
    const own = new Map((active?.upstreams ?? []).map((one) => [one.name, one.urls]))
    for (const [index, route] of (active?.routes ?? []).entries()) {
      if (index % STEP_ROUTES === 0) yield
      routes.push(toSourceRoute(route, { source, owners, services, own }))
    }
    for (const one of active?.upstreams ?? [])
      upstreams.push({ ...one, name: ownUpstreamName(name, one.name) })
    for (const [scope, description] of active?.scopes ?? []) scopes.set(scope, description)
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
  return { routes, upstreams, scopes, tests, states, unavailable, diagnostics }
}

/** One version of a source: its policies, and the upstreams and scopes that it defines. */
type LoadedVersion<U extends OwnUpstream> = LoadedPolicies & Pick<SourceAdditions<U>, 'upstreams' | 'scopes'>

const NO_ADDITIONS = {
  upstreams: [],
  scopes: new Map(),
  authorizationServers: new Set<string>(),
  diagnostics: [],
}
const NO_POLICIES = { routes: [], tests: [], hash: '' }

type VersionOptions<U extends OwnUpstream> = {
  readonly source: PolicySource
  readonly owners: PrefixOwners
  readonly services: SharedServices
  readonly options: SourceOptions<U>
}

/** Checks a version. An exception in a check makes only this version invalid, so the other sources still load. */
function* loadVersion<U extends OwnUpstream>(
  folder: PolicyFolder,
  options: VersionOptions<U>,
): Steps<LoadedVersion<U>> {
  try {
    return yield* checkVersion(folder, options)
  } catch (error) {
    const message = `the policies cannot be checked: ${String(error).slice(0, 200)}`
    const problem = diagnostic('P001', message, wholeFile(displayPath(options.source.folder)), {
      hint: 'this is a defect of Scopegate: restore the last version of the files, and report the defect',
    })
    return { ...NO_POLICIES, ...NO_ADDITIONS, diagnostics: [problem] }
  }
}

function* checkVersion<U extends OwnUpstream>(
  folder: PolicyFolder,
  { source, owners, services, options }: VersionOptions<U>,
): Steps<LoadedVersion<U>> {
  const additions: SourceAdditions<U> = options.readAdditions?.(source, folder) ?? NO_ADDITIONS
  const { catalogue, upstreams, authorizationServers = [], maxRoutes = SOURCE_LIMITS.routes } = options
  const { diagnostics: found, scopes } = additions
  // The policies use names of the additions. Without valid additions, each use would cause one more error.
  if (hasErrors(found)) return { ...NO_POLICIES, ...NO_ADDITIONS, diagnostics: found }
  yield
  const ownUpstreams = new Map(additions.upstreams.map(({ name, urls }) => [name, urls]))
  const policies = yield* loadPoliciesSliced({
    ...options,
    catalogue: catalogue && new Map([...catalogue, ...additions.scopes]),
    upstreams: upstreams && new Set([...upstreams, ...ownUpstreams.keys()]),
    authorizationServers: new Set([
      ...[...authorizationServers].filter((name) => !ownUpstreams.has(name)),
      ...additions.authorizationServers,
    ]),
    // The permissions of a source depend on its upstreams.
    hasDecisions: false,
    dir: source.folder,
    sources: folder,
    permit: (all, document) => checkPermissions(all, document, { source, owners, services, ownUpstreams }),
  })
  const diagnostics = [...found, ...policies.diagnostics]
  if (policies.routes.length > maxRoutes)
    diagnostics.push(
      diagnostic(
        'P007',
        `the policies have more than ${maxRoutes} routes`,
        wholeFile(displayPath(source.folder)),
        { hint: 'remove routes, or divide them over several sources' },
      ),
    )
  const hash = hashOf(policies.hash, folder)
  return {
    ...policies,
    hash,
    diagnostics: sortDiagnostics(diagnostics),
    upstreams: additions.upstreams,
    scopes,
  }
}

/** Returns the hash of the policies and of the additions, in hexadecimal. */
function hashOf(policies: string, { files }: PolicyFolder): string {
  const additions = files.filter(({ name }) => isAdditionFile(name))
  if (additions.length === 0) return policies
  const hash = createHash('sha256').update(policies)
  for (const { name, source } of additions) {
    const content = JSON.stringify(source)
    hash.update(`${name} ${content.length}:`).update(content)
  }
  return hash.digest('hex')
}

function toSourceRoute(
  route: PolicyRoute,
  {
    source,
    owners,
    services,
    own,
  }: {
    readonly source: PolicySource
    readonly owners: PrefixOwners
    readonly services: SharedServices
    /** The addresses of the upstreams that the source defines. */
    readonly own: UpstreamAddresses
  },
): PolicyRoute {
  const { upstream } = route
  if (upstream === undefined) throw new Error(`${route.name}: a route of a policy source needs an upstream`)
  const addresses = own.get(upstream)
  const sharesUpstream = services.neighboursOf(source, upstream, addresses).length > 0
  const suffixes = sharesUpstream && route.rewritePath === undefined // the upstream gets the path of the request
  const checked = checkPath(route.path, source, owners, { suffixes })
  if ('message' in checked) throw new Error(checked.message)
  return Object.freeze({
    ...route,
    name: `${source.name}/${route.name}`,
    policy: `${source.name}/${route.policy}`,
    owner: source.owner ?? route.owner,
    upstream: addresses === undefined ? upstream : ownUpstreamName(source.name, upstream),
    policySource: source.name,
    excludedPrefixes: Object.freeze(checked.excluded),
    sharesUpstream,
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
