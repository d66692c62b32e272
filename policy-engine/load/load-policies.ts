import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { capPerCode } from '../../platform/diagnostics/collect-problems.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  type SourceLocation,
  sortDiagnostics,
} from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { runSync, type Steps } from '../../platform/diagnostics/run-sliced.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import { parseYamlSliced, type YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { checkConditions } from '../checks/check-conditions.ts'
import { checkCors } from '../checks/check-cors.ts'
import { checkHeaderChanges } from '../checks/check-header-changes.ts'
import { checkHeaderMatches } from '../checks/check-header-matches.ts'
import { checkReferences } from '../checks/check-references.ts'
import {
  checkInternalPaths,
  checkMcp,
  checkMounts,
  checkRewrites,
  checkWebsockets,
} from '../checks/check-routes.ts'
import { findImplicitAnonymous } from '../checks/exposed-routes.ts'
import { findConflicts, findDuplicateNames, type Named } from '../checks/find-conflicts.ts'
import { findContradictions } from '../checks/find-contradictions.ts'
import { findLiteralPatterns } from '../checks/find-literal-patterns.ts'
import { findProxyKeys } from '../checks/proxy-keys.ts'
import { checkPolicyFile, type PolicyFile } from '../format/policy-file.ts'
import type { PolicyTest } from '../format/policy-test.ts'
import { NO_PRESETS, type Presets } from '../format/presets.ts'
import { findPolicyFiles } from './find-policy-files.ts'
import { loadPolicyTests, readPolicyTests } from './load-policy-tests.ts'
import type { PolicyRoute } from './policy-route.ts'
import { type PolicySources, readFolder } from './policy-sources.ts'
import { type RouteKey, readRouteKeys } from './route-keys.ts'
import { toPolicyRoutes } from './to-policy-routes.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * Policies of a folder. If `diagnostics` contains an error, `routes` and `tests` are empty, because policies never
 * apply in part.
 */
export type LoadedPolicies = {
  /** All routes, in the order of the files and of the routes in each file. Frozen. */
  readonly routes: readonly PolicyRoute[]
  /** Tests in policy files. With `withTestFiles`, the tests of `*_test.yaml` files follow. */
  readonly tests: readonly PolicyTest[]
  /** SHA-256 of names and contents, in hexadecimal. Does not depend on the location of the folder. */
  readonly hash: string
  /**
   * All problems, sorted by file and line. Callers check the problems with `hasErrors()` before they use the policies.
   */
  readonly diagnostics: readonly Diagnostic[]
}

export type LoadPoliciesOptions = {
  readonly dir: string
  /** Content of the folder, if the caller has read it already. Default: `loadPolicies()` reads the folder. */
  readonly sources?: Pick<PolicySources, 'folder' | 'files'> | undefined
  readonly catalogue?: ScopeCatalogue | undefined
  readonly upstreams?: ReadonlySet<string> | undefined
  /** Whether the gateway has a decision endpoint. Policies without an upstream then are valid. Default: false. */
  readonly hasDecisions?: boolean | undefined
  /** Presets that policies may extend. Default: no presets. */
  readonly presets?: Presets | undefined
  /** Names of the upstreams that lead to the authorization server. */
  readonly authorizationServers?: ReadonlySet<string> | undefined
  /** Whether to read the tests in policy files. Their schema is always checked. Default: true. */
  readonly withTests?: boolean | undefined
  /** Whether to read test files too. The server does not need test files. */
  readonly withTestFiles?: boolean | undefined
  /** Checks the routes of a file that has no other errors. Default: no check, so all routes are permitted. */
  readonly permit?:
    | ((routes: readonly PolicyRoute[], document: YamlDocument) => Steps<readonly Diagnostic[]>)
    | undefined
}

/**
 * Loads all `*.policy.yaml` files of a folder. Checks syntax, schema, references and conflicts in one run.
 * Checks references to scopes only with a `catalogue`, and references to upstreams only with `upstreams`. Reads small
 * files synchronously.
 */
export function loadPolicies(options: LoadPoliciesOptions): LoadedPolicies {
  return runSync(loadPoliciesSliced(options))
}

/**
 * Runs `loadPolicies()` in steps, so that other work can run between two steps. Each file takes several steps. The
 * checks across files take more steps.
 */
export function* loadPoliciesSliced(options: LoadPoliciesOptions): Steps<LoadedPolicies> {
  const { dir, sources, presets = NO_PRESETS, withTests = true } = options
  const found = findPolicyFiles(dir, sources?.folder ?? readFolder(dir), {
    isSource: options.permit !== undefined,
  })
  const texts = new Map(sources?.files.map(({ name, source }) => [name, source]))
  const diagnostics: Diagnostic[] = [...found.diagnostics]
  const hash = createHash('sha256')
  const named: Named[] = []
  const claims: RouteKey[] = []
  const routes: PolicyRoute[] = []
  const tests: PolicyTest[] = []
  for (const name of found.policies) {
    yield
    const file = join(dir, name)
    const shownAs = displayPath(file)
    const read = readTextFile(file, { shownAs, letter: 'P' }, texts.get(name))
    if ('problem' in read) {
      diagnostics.push(read.problem)
      continue
    }
    hash.update(`${name.length}:${name}${read.text.length}:`).update(read.text)
    const document = yield* parseYamlSliced(read.text, { shownAs, letter: 'P' })
    diagnostics.push(...document.diagnostics)
    if (document.value === undefined) continue
    yield
    const checked = yield* checkDocumentInSteps(document, options)
    diagnostics.push(...checked.diagnostics)
    claims.push(...checked.claims)
    const names = policyName(document)
    named.push(...names)
    for (const { location } of [...names, ...checked.claims]) resolveLocation(location)
    if (hasErrors(document.diagnostics) || hasErrors(checked.diagnostics)) continue
    yield
    const policy = document.value as PolicyFile
    const own = toPolicyRoutes(policy, document, presets)
    routes.push(...own)
    if (options.permit !== undefined) diagnostics.push(...capPerCode(yield* options.permit(own, document)))
    diagnostics.push(...capPerCode(findImplicitAnonymous(policy, document, presets)))
    if (withTests) tests.push(...testsOf(document))
  }
  yield
  diagnostics.push(...findDuplicateNames('P303', 'policy', named))
  yield
  diagnostics.push(...capPerCode(findConflicts(claims)))
  const testFiles =
    options.withTestFiles === true
      ? loadPolicyTests(dir, { files: found.tests, policies: named.map(({ name }) => name), texts })
      : undefined
  if (testFiles !== undefined) diagnostics.push(...testFiles.diagnostics)
  const broken = hasErrors(diagnostics)
  yield
  return Object.freeze({
    routes: Object.freeze(broken ? [] : routes),
    tests: Object.freeze(broken ? [] : [...tests, ...(testFiles?.tests ?? [])]),
    hash: hash.digest('hex'),
    diagnostics: sortDiagnostics(diagnostics),
  })
}

/** Runs the checks of one policy file that need no other policy file. `claims` is the input of `findConflicts()`. */
export function checkDocument(
  document: YamlDocument,
  options: Omit<LoadPoliciesOptions, 'dir'>,
): CheckedDocument {
  return runSync(checkDocumentInSteps(document, options))
}

type CheckedDocument = { readonly claims: readonly RouteKey[]; readonly diagnostics: readonly Diagnostic[] }

function* checkDocumentInSteps(
  document: YamlDocument,
  options: Omit<LoadPoliciesOptions, 'dir'>,
): Steps<CheckedDocument> {
  const { catalogue, upstreams, hasDecisions = false, presets = NO_PRESETS } = options
  const manifest = findManifest(document)
  if (manifest !== undefined) return { claims: [], diagnostics: [manifest] }
  const { claims, diagnostics } = readRouteKeys(document, presets)
  const checks: readonly (() => readonly Diagnostic[])[] = [
    () => checkPolicyFile(document.value, document.locationOf),
    () => checkReferences(document, { catalogue, upstreams, hasDecisions, presets }),
    () => diagnostics,
    () => checkHeaderMatches(document),
    () => checkHeaderChanges(document),
    () => checkCors(document),
    () => checkConditions(document),
    () => findContradictions(document, presets),
    () => findLiteralPatterns(document),
    () => checkMounts(document),
    () => checkRewrites(document),
    () => checkInternalPaths(document, options.authorizationServers ?? NONE),
    () => findDuplicateNames('P304', 'route', routeNames(document)),
    () => checkWebsockets(document),
    () => checkMcp(document),
    () => findProxyKeys(document, presets),
  ]
  const found: Diagnostic[] = []
  for (const check of checks) {
    yield
    for (const one of check()) found.push(one)
  }
  // Drops all other diagnostics of a line with a syntax problem, because the intended meaning of the line is unknown.
  const reportedLines = new Set(document.diagnostics.map((one) => one.location.line))
  const rest = capPerCode(found)
  return { claims, diagnostics: rest.filter((one) => !reportedLines.has(one.location.line)) }
}

/**
 * Computes the location immediately, because a lazy location would keep a reference to its document. All documents
 * would then stay in memory until the last file is read, and the garbage collector would copy the documents.
 */
function resolveLocation(location: SourceLocation): void {
  void location.line
}

function testsOf(document: YamlDocument): readonly PolicyTest[] {
  const { name, tests } = document.value as PolicyFile
  return readPolicyTests(tests, { policy: name, document })
}

function policyName(document: YamlDocument): readonly Named[] {
  const name = (document.value as { name?: unknown } | null)?.name
  return typeof name === 'string' ? [{ name, location: document.locationOf(['name']) }] : []
}

function routeNames(document: YamlDocument): readonly Named[] {
  const routes = (document.value as { routes?: unknown } | null)?.routes
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: { name?: unknown } | null, index) =>
    typeof route?.name === 'string'
      ? [{ name: route.name, location: document.locationOf(['routes', index, 'name']) }]
      : [],
  )
}

/**
 * Detects a Kubernetes manifest in place of a policy. Without this check, each key of the manifest would cause a
 * separate diagnostic. Code: P102.
 */
function findManifest(document: YamlDocument): Diagnostic | undefined {
  const { apiVersion, kind, metadata } = (document.value ?? {}) as Readonly<Record<string, unknown>>
  const isManifest =
    typeof kind === 'string' &&
    kind !== 'Policy' &&
    typeof apiVersion === 'string' &&
    !apiVersion.startsWith('scopegate/') &&
    typeof metadata === 'object'
  if (!isManifest) return undefined
  const message = `this is a Kubernetes ${kind}, not a policy`
  return diagnostic('P102', message, document.locationOf(['kind']), {
    hint: 'write only the policy. In a ConfigMap, the policy is the text of one key in data',
  })
}
