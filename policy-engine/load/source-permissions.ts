import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { type PathTemplate, readPathTemplate } from '../match/path-template.ts'
import { fits } from '../match/resources.ts'
import type { PolicyRoute } from './policy-route.ts'

/** A folder of policies that one team owns, and the permissions of these policies. Plain data. */
export type PolicySource = {
  readonly name: string
  /** Absolute path. */
  readonly folder: string
  readonly owner: string | undefined
  readonly permissions: SourcePermissions
}

export type SourcePermissions = {
  /**
   * Literal paths without a trailing slash; `/` is every path. A prefix permits its own path and all paths below it.
   */
  readonly pathPrefixes: readonly string[]
  /** Names of upstreams. */
  readonly upstreams: readonly string[]
  /** Names of scopes. `*` at the end matches any text. */
  readonly scopes: readonly string[]
  /** Whether routes may serve requests without a token. */
  readonly anonymous: boolean
}

type OwnedPrefix = {
  readonly prefix: string
  readonly segments: readonly string[]
  readonly source: PolicySource
}

/** The path prefixes of all policy sources, the longest first. The longest prefix of a path determines its owner. */
export type PrefixOwners = readonly OwnedPrefix[]

/** Sorts the path prefixes of all sources. No two sources may have the same prefix. */
export function prefixOwners(sources: readonly PolicySource[]): PrefixOwners {
  return sources
    .flatMap((source) =>
      source.permissions.pathPrefixes.map((prefix) => ({ prefix, segments: segmentsOf(prefix), source })),
    )
    .toSorted((a, b) => b.segments.length - a.segments.length || (a.prefix < b.prefix ? -1 : 1))
}

function segmentsOf(prefix: string): readonly string[] {
  return prefix === '/' ? [] : prefix.slice(1).split('/')
}

/** Returns a function that checks whether a canonical path is one of the prefixes or below one of them. */
export function isBelowAny(prefixes: readonly string[]): (path: string) => boolean {
  return (path) =>
    prefixes.some(
      (prefix) =>
        prefix === '/' ||
        (path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')),
    )
}

/** Returns the longer prefixes of other sources that are at or below a prefix of a source. */
export function prefixesWithin(prefix: string, source: string, owners: PrefixOwners): readonly string[] {
  const isWithin = isBelowAny([prefix])
  return owners
    .filter((one) => one.source.name !== source && one.prefix !== prefix && isWithin(one.prefix))
    .map((one) => one.prefix)
}

type Violation = { readonly message: string; readonly hint: string }

/**
 * Finds the part of a template that lies outside of the paths of a source.
 * @returns the violation. Without a violation, returns the longer prefixes of other sources that the template also
 * matches. The route must not serve the paths of these prefixes.
 */
export function checkPath(
  path: string,
  source: PolicySource,
  owners: PrefixOwners,
): { readonly excluded: readonly string[] } | Violation {
  const template = readPathTemplate(path)
  const own = owners.find((one) => one.source.name === source.name && relation(template, one) === 'always')
  const others = owners.filter((one) => one.source.name !== source.name)
  const taken = others.find((one) => relation(template, one) === 'always')
  if (taken !== undefined && (own === undefined || taken.segments.length > own.segments.length))
    return {
      message: `${JSON.stringify(path)} belongs to source ${describeSource(taken.source)}`,
      hint: hintOf(source),
    }
  if (own !== undefined)
    return {
      excluded: others
        .filter((one) => one.segments.length > own.segments.length && relation(template, one) === 'sometimes')
        .map(({ prefix }) => prefix),
    }
  const reached = others.find((one) => relation(template, one) === 'sometimes')
  const more =
    reached === undefined
      ? ''
      : `: it also matches paths at ${reached.prefix}, which belongs to source ${describeSource(reached.source)}`
  return {
    message: `${JSON.stringify(path)} is outside of the path prefixes of source ${source.name}${more}`,
    hint: hintOf(source),
  }
}

function relation(template: PathTemplate, { segments }: OwnedPrefix) {
  return fits(template, segments)
}

function describeSource({ name, owner }: PolicySource): string {
  return owner === undefined ? name : `${name} (owner ${owner})`
}

function hintOf({ permissions }: PolicySource): string {
  return `begin the path with ${permissions.pathPrefixes.join(' or ')}`
}

/** Returns whether the permissions include a scope. */
export function permitsScope({ scopes }: SourcePermissions, name: string): boolean {
  return scopes.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name))
}

/**
 * Checks the routes of one file, after defaults, presets and mounts are applied.
 * Codes: P401 path; P402 upstream; P403 scope; P404 access without a token; P405 path of a shared upstream.
 * @param shared upstreams that several sources may use.
 */
export function checkPermissions(
  routes: readonly PolicyRoute[],
  document: YamlDocument,
  {
    source,
    owners,
    shared,
  }: {
    readonly source: PolicySource
    readonly owners: PrefixOwners
    readonly shared: ReadonlySet<string>
  },
): readonly Diagnostic[] {
  const { permissions } = source
  const found: Diagnostic[] = []
  const report = (code: string, at: YamlPath, message: string, hint: string): void => {
    found.push(diagnostic(code, message, document.locationOf(at), { hint }))
  }
  const [first] = routes
  if (first !== undefined && !permissions.upstreams.includes(first.upstream))
    report(
      'P402',
      ['upstream'],
      `source ${source.name} may not use upstream ${JSON.stringify(first.upstream)}`,
      permissions.upstreams.length === 0
        ? 'its permissions name no upstream'
        : `permitted: ${permissions.upstreams.join(', ')}`,
    )
  for (const [index, route] of routes.entries()) {
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
              ? 'its permissions name no scope'
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
    const upstreamPath = shared.has(route.upstream) ? route.rewritePath : undefined
    if (upstreamPath !== undefined && !isOwnUpstreamPath(upstreamPath, source, owners))
      report(
        'P405',
        [...at, ...(route.mount === undefined ? ['rewrite', 'path'] : ['match', 'path'])],
        `${upstreamPath} at upstream ${route.upstream} is outside of the path prefixes of source ${source.name}, and other sources use this upstream`,
        'remove the rewrite or the mount, or ask the operator for an upstream of this source',
      )
  }
  return found
}

/** Returns whether every path of an upstream template lies within the prefixes of a source. */
function isOwnUpstreamPath(path: string, source: PolicySource, owners: PrefixOwners): boolean {
  const checked = checkPath(path, source, owners)
  return 'excluded' in checked && checked.excluded.length === 0
}
