import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { type FoldOptions, foldedPrefix, foldedRelation, templateReadings } from '../match/fold-path.ts'
import { readPathTemplate } from '../match/path-template.ts'
import { fits } from '../match/resources.ts'
import type { PolicyRoute } from './policy-route.ts'
import type { Neighbour, SharedServices, UpstreamAddresses } from './shared-services.ts'

/** A folder of policies that one team owns, and the permissions of these policies. Plain data. */
export type PolicySource = {
  readonly name: string
  /** Absolute path. */
  readonly folder: string
  /**
   * Absolute path of a folder that must contain the real path of `folder`. The authors of a git repository or of an image
   * can replace a part of `folder` by a link. Undefined: no check.
   */
  readonly root?: string | undefined
  /** Absolute path of a file. Its modification time is the time of the last successful fetch of the policies. */
  readonly lastFetchFile?: string | undefined
  readonly owner: string | undefined
  readonly permissions: SourcePermissions
}

export type SourcePermissions = {
  /**
   * Literal paths without a trailing slash; `/` is every path. A prefix permits its own path and all paths below it.
   */
  readonly pathPrefixes: readonly string[]
  readonly upstreams: readonly string[]
  /** URLs that upstreams of the source may have. The path of a URL also permits the paths below it. */
  readonly addresses: readonly string[]
  /** Names of scopes. `*` at the end matches any text. */
  readonly scopes: readonly string[]
  /** Whether routes may serve requests without a token. */
  readonly anonymous: boolean
  /** Whether upstreams may receive the credentials of callers (`upstreamAuth: forward`). */
  readonly forwardCredentials: boolean
}

type OwnedPrefix = {
  readonly prefix: string
  readonly segments: readonly string[]
  /** The segments as tolerant upstreams read them. */
  readonly folded: readonly string[]
  readonly source: PolicySource
}

/** Number of routes that a step checks. */
const STEP_ROUTES = 32
const NO_SUFFIXES: FoldOptions = { suffixes: false }
const WITH_SUFFIXES: FoldOptions = { suffixes: true }

/** The path prefixes of all policy sources, the longest first. The longest prefix of a path determines its owner. */
export type PrefixOwners = readonly OwnedPrefix[]

/** Sorts the path prefixes of all sources. No two sources may have the same prefix. */
export function prefixOwners(sources: readonly PolicySource[]): PrefixOwners {
  return sources
    .flatMap((source) =>
      source.permissions.pathPrefixes.map((prefix) => ({
        prefix,
        segments: segmentsOf(prefix),
        folded: foldedPrefix(prefix),
        source,
      })),
    )
    .toSorted((a, b) => b.segments.length - a.segments.length || (a.prefix < b.prefix ? -1 : 1))
}

function segmentsOf(prefix: string): readonly string[] {
  return prefix === '/' ? [] : prefix.slice(1).split('/')
}

/** Returns the longer prefixes of other sources that are at or below a prefix of a source. */
export function prefixesWithin(prefix: string, source: string, owners: PrefixOwners): readonly string[] {
  const own = templateReadings(prefix === '/' ? '/**' : `${prefix}/**`)
  const { length } = segmentsOf(prefix)
  return owners
    .filter(
      (one) =>
        one.source.name !== source &&
        one.segments.length > length &&
        foldedRelation(own, one.folded, NO_SUFFIXES) !== 'never',
    )
    .map((one) => one.prefix)
}

type Violation = { readonly message: string; readonly hint: string }

/**
 * Finds the part of a template that lies outside of the paths of a source. The template must begin with a prefix of the
 * source exactly. Prefixes of other sources also apply to other spellings of a path, because some upstreams ignore
 * case, path parameters or percent-encoding.
 * @returns the violation. Without a violation, returns the longer prefixes of other sources that the template also
 * matches. The route must not serve the paths of these prefixes.
 */
export function checkPath(
  path: string,
  source: PolicySource,
  owners: PrefixOwners,
  options: FoldOptions = NO_SUFFIXES,
): { readonly excluded: readonly string[] } | Violation {
  const template = readPathTemplate(path)
  const readings = templateReadings(template)
  const own = owners.find(
    (one) => one.source.name === source.name && fits(template, one.segments) === 'always',
  )
  const excluded: string[] = []
  let reached: OwnedPrefix | undefined
  for (const one of owners) {
    if (one.source.name === source.name || (own !== undefined && one.segments.length <= own.segments.length))
      continue
    const relation = foldedRelation(readings, one.folded, options)
    if (relation === 'always')
      return {
        message: `${JSON.stringify(path)} belongs to source ${describeSource(one.source)}${
          fits(template, one.segments) === 'always'
            ? ''
            : `: an upstream can read it as a path at ${one.prefix}`
        }`,
        hint: hintOf(source),
      }
    if (relation === 'sometimes') {
      reached ??= one
      excluded.push(one.prefix)
    }
  }
  if (own !== undefined) return { excluded }
  const more =
    reached === undefined
      ? ''
      : `: it also matches paths at ${reached.prefix}, which belongs to source ${describeSource(reached.source)}`
  return {
    message: `${JSON.stringify(path)} is outside of the path prefixes of source ${source.name}${more}`,
    hint: hintOf(source),
  }
}

function describeSource({ name, owner }: PolicySource): string {
  return owner === undefined ? name : `${name} (owner ${owner})`
}

function hintOf({ permissions }: PolicySource): string {
  return `begin the path with ${permissions.pathPrefixes.join(' or ')}`
}

export function permitsScope({ scopes }: SourcePermissions, name: string): boolean {
  return scopes.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name))
}

/**
 * Checks the routes of one file, after defaults, presets and mounts are applied. A step checks `STEP_ROUTES` routes.
 * Codes: P401 path; P402 upstream; P403 scope; P404 access without a token; P405 path of a shared upstream; P406
 * credentials of callers.
 */
export function* checkPermissions(
  routes: readonly PolicyRoute[],
  document: YamlDocument,
  {
    source,
    owners,
    services,
    ownUpstreams,
  }: {
    readonly source: PolicySource
    readonly owners: PrefixOwners
    readonly services: SharedServices
    /** The addresses of the upstreams that the source defines. */
    readonly ownUpstreams: UpstreamAddresses
  },
): Steps<readonly Diagnostic[]> {
  const { permissions } = source
  const found: Diagnostic[] = []
  const report = (code: string, at: YamlPath, message: string, hint: string): void => {
    found.push(diagnostic(code, message, document.locationOf(at), { hint }))
  }
  const [first] = routes
  const upstream = first?.upstream
  if (upstream === undefined) return found // P103 reports a missing upstream
  const own = ownUpstreams.get(upstream)
  if (own === undefined && !permissions.upstreams.includes(upstream))
    report(
      'P402',
      ['upstream'],
      `source ${source.name} may not use upstream ${JSON.stringify(upstream)}`,
      permissions.upstreams.length === 0
        ? 'the permissions of the source contain no upstream'
        : `permitted: ${permissions.upstreams.join(', ')}`,
    )
  const neighbours = services.neighboursOf(source, upstream, own)
  const base = services.baseOf(upstream, own)
  for (const [index, route] of routes.entries()) {
    if (index % STEP_ROUTES === 0) yield
    const at: YamlPath = ['routes', index]
    const path = checkPath(route.path, source, owners)
    if ('message' in path) report('P401', [...at, 'match', 'path'], path.message, path.hint)
    for (const key of ['all', 'any'] as const)
      for (const [position, scope] of (route.scopes?.[key] ?? []).entries())
        if (!permitsScope(permissions, scope))
          report(
            'P403',
            [...at, 'scopes', key, position],
            `source ${source.name} may not use scope ${JSON.stringify(scope)}`,
            permissions.scopes.length === 0
              ? 'the permissions of the source contain no scope'
              : `permitted: ${permissions.scopes.join(', ')}`,
          )
    if (!permissions.anonymous && route.anonymous === 'allow')
      report(
        'P404',
        [...at, 'anonymous'],
        `source ${source.name} may not serve requests without a token, but anonymous callers reach ${route.name}`,
        'write anonymous: challenge or deny',
      )
    else if (!permissions.anonymous && route.enforce === 'report')
      report(
        'P404',
        [...at, 'enforce'],
        `source ${source.name} may not serve requests without a token, but enforce: report does so at ${route.name}`,
        'remove enforce: report',
      )
    if (!permissions.forwardCredentials && route.upstreamAuth === 'forward')
      report(
        'P406',
        [...at, 'upstreamAuth'],
        `source ${source.name} may not forward the credentials of callers, but upstreamAuth: forward does so at ${route.name}`,
        'remove upstreamAuth: forward, or write upstreamAuth: assertion',
      )
    if (neighbours.length === 0 || 'message' in path) continue
    const upstreamPath = route.rewritePath ?? route.path
    if (!staysWithin(route, { source, owners, neighbours, base }))
      report(
        'P405',
        [
          ...at,
          ...(route.rewritePath === undefined || route.mount !== undefined
            ? ['match', 'path']
            : ['rewrite', 'path']),
        ],
        `${upstreamPath} at upstream ${route.upstream} is outside of the path prefixes of source ${source.name}, and other sources use this upstream or its address`,
        'remove the rewrite or the mount, or ask the operator for an upstream of this source',
      )
  }
  return found
}

/**
 * Returns whether a route on a shared service reaches only the paths of its source. Conditions:
 * - The upstream path lies within the prefixes of the source.
 * - If another source uses the service with another base path, the upstream path lies outside of the prefixes of that
 *   source.
 */
function staysWithin(
  { path, rewritePath }: PolicyRoute,
  {
    source,
    owners,
    neighbours,
    base,
  }: {
    readonly source: PolicySource
    readonly owners: PrefixOwners
    readonly neighbours: readonly Neighbour[]
    readonly base: readonly string[]
  },
): boolean {
  const checked = checkPath(rewritePath ?? path, source, owners, WITH_SUFFIXES)
  if ('message' in checked) return false
  if (rewritePath !== undefined && checked.excluded.length > 0) return false
  const { readings, below } = templateReadings(rewritePath ?? path)
  const full = { readings: readings.map((segments) => [...base, ...segments]), below }
  return neighbours.every(
    (other) =>
      isEqual(base, other.base) ||
      other.source.permissions.pathPrefixes.every(
        (prefix) => foldedRelation(full, [...other.base, ...foldedPrefix(prefix)], WITH_SUFFIXES) === 'never',
      ),
  )
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((segment, at) => segment === b[at])
}
