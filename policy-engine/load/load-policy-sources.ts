import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { hasErrors } from '../../platform/diagnostics/diagnostic.ts'
import type { Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { PolicyTest } from '../format/policy-test.ts'
import { type LoadedPolicies, type LoadPoliciesOptions, loadPoliciesSliced } from './load-policies.ts'
import type { PolicyRoute } from './policy-route.ts'
import type { PolicyFolder, SourceFiles } from './policy-sources.ts'
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

type SourceOptions = Omit<LoadPoliciesOptions, 'dir' | 'sources' | 'permit'>

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
  const owners = prefixOwners(sources)
  const shared = sharedUpstreams(sources)
  const routes: PolicyRoute[] = []
  const tests: PolicyTest[] = []
  const states: SourceState[] = []
  const unavailable: UnavailablePrefix[] = []
  const diagnostics: Diagnostic[] = []
  for (const { name, current, lastValid } of files) {
    const source = sources.find((one) => one.name === name)
    if (source === undefined) continue
    const load = (folder: PolicyFolder): Steps<LoadedPolicies> =>
      loadPoliciesSliced({
        ...options,
        dir: source.folder,
        sources: folder,
        permit: (found, document) => checkPermissions(found, document, { source, owners, shared }),
      })
    const loaded = yield* load(current)
    const isValid = !hasErrors(loaded.diagnostics)
    diagnostics.push(...loaded.diagnostics)
    let active: LoadedPolicies | undefined = isValid ? loaded : undefined
    if (!isValid && lastValid !== undefined) {
      const kept = yield* load(lastValid)
      if (!hasErrors(kept.diagnostics)) active = kept
    }
    const own = active?.routes.map((route) => toSourceRoute(route, source, owners)) ?? []
    routes.push(...own)
    tests.push(...(active?.tests ?? []).map((test) => toSourceTest(test, name)))
    if (active === undefined)
      for (const prefix of source.permissions.pathPrefixes)
        unavailable.push({ source: name, prefix, excludedPrefixes: prefixesWithin(prefix, name, owners) })
    states.push({
      name,
      owner: source.owner,
      state: isValid ? 'valid' : active === undefined ? 'unavailable' : 'kept',
      version: active?.hash,
      routes: own.length,
      pathPrefixes: source.permissions.pathPrefixes,
      errors: loaded.diagnostics.filter(({ severity }) => severity === 'error'),
    })
  }
  return { routes, tests, states, unavailable, diagnostics }
}

/** Returns the upstreams that several sources may use. */
function sharedUpstreams(sources: readonly PolicySource[]): ReadonlySet<string> {
  const all = sources.flatMap(({ permissions }) => [...new Set(permissions.upstreams)])
  return new Set(all.filter((name, index) => all.indexOf(name) !== index))
}

function toSourceRoute(route: PolicyRoute, source: PolicySource, owners: PrefixOwners): PolicyRoute {
  const checked = checkPath(route.path, source, owners)
  if ('message' in checked) throw new Error(checked.message)
  return Object.freeze({
    ...route,
    name: `${source.name}/${route.name}`,
    policy: `${source.name}/${route.policy}`,
    owner: source.owner ?? route.owner,
    policySource: source.name,
    excludedPrefixes: Object.freeze(checked.excluded),
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
