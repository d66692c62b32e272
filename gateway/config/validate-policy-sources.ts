import type { LocationOf } from '../../platform/config/read-config.ts'
import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { parseMount } from '../../policy-engine/load/mount.ts'
import type { PolicySource } from '../../policy-engine/load/source-permissions.ts'
import { foldedPrefix } from '../../policy-engine/match/fold-path.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { UpstreamsFile } from './upstreams-file.ts'

/** Names that policy sources must not use, because the names of built-in routes begin with these words. */
const RESERVED_NAMES: readonly string[] = ['scopegate', 'authorization-server']

export function toPolicySources(file: GatewayFile): readonly PolicySource[] {
  return (file.policySources ?? []).map(({ name, folder, root, lastFetchFile, owner, permissions }) =>
    Object.freeze({
      name,
      folder,
      root,
      lastFetchFile,
      owner,
      permissions: Object.freeze({
        pathPrefixes: permissions.pathPrefixes,
        upstreams: permissions.upstreams ?? [],
        addresses: permissions.addresses ?? [],
        scopes: permissions.scopes ?? [],
        anonymous: permissions.anonymous ?? false,
        forwardCredentials: permissions.forwardCredentials ?? false,
      }),
    }),
  )
}

/**
 * Reports problems of `policySources`:
 * - C360: settings that exclude each other
 * - C361: a path prefix that is invalid, or that Scopegate reserves
 * - C362: a path prefix that two sources share
 * - C363: a name or folder that two sources share, a folder inside the folder of another source, or a reserved name
 * - C364: an unknown upstream
 */
export function findUnusableSources(
  file: GatewayFile,
  upstreams: UpstreamsFile | undefined,
  locationOf: LocationOf,
): readonly Diagnostic[] {
  const sources = file.policySources
  const found: Diagnostic[] = []
  const report = (code: string, at: YamlPath, message: string, hint: string): void => {
    found.push(diagnostic(code, message, locationOf(at), { hint }))
  }
  if (sources === undefined) {
    if (file.onInvalidPolicy === 'keep')
      report(
        'C360',
        ['onInvalidPolicy'],
        'onInvalidPolicy: keep requires policySources',
        'define policySources in place of policies, or remove onInvalidPolicy',
      )
    return found
  }
  if (file.policies !== undefined)
    report(
      'C360',
      ['policies'],
      'policies and policySources exclude each other',
      'remove policies, and define a source for its folder',
    )
  const names = new Map<string, number>()
  const folders = new Map<string, number>()
  const prefixes = new Map<string, { readonly source: string; readonly prefix: string }>()
  for (const [index, { name, folder, permissions }] of sources.entries()) {
    const at: YamlPath = ['policySources', index]
    if (RESERVED_NAMES.includes(name))
      report('C363', [...at, 'name'], `the name "${name}" is reserved by Scopegate`, 'choose another name')
    for (const [key, value, seen] of [
      ['name', name, names],
      ['folder', folder, folders],
    ] as const) {
      const earlier = seen.get(value)
      if (earlier === undefined) seen.set(value, index)
      else
        report(
          'C363',
          [...at, key],
          `policySources[${index}] and policySources[${earlier}] have the same ${key}`,
          'change one of them',
        )
    }
    const outer = sources.find(
      (other) => `${folder}/`.startsWith(`${other.folder}/`) && other.folder !== folder,
    )
    if (outer !== undefined)
      report(
        'C363',
        [...at, 'folder'],
        `the folder is inside the folder of source ${outer.name}, which reads its subfolders too`,
        'move one of the folders out of the other folder',
      )
    for (const [position, prefix] of permissions.pathPrefixes.entries()) {
      const where: YamlPath = [...at, 'permissions', 'pathPrefixes', position]
      const parsed = parseMount(prefix)
      if ('problem' in parsed) {
        report(
          'C361',
          where,
          `${JSON.stringify(prefix)} is not a path prefix: ${explain(parsed.problem)}`,
          parsed.hint ?? 'write literal segments, for example /api/billing',
        )
        continue
      }
      // Some upstreams ignore case, path parameters or percent-encoding. Prefixes that differ only in these respects
      // count as equal.
      const key = foldedPrefix(prefix).join('/')
      const other = prefixes.get(key)
      if (other === undefined) prefixes.set(key, { source: name, prefix })
      else
        report(
          'C362',
          where,
          other.prefix === prefix
            ? `${prefix} belongs to source ${other.source} already`
            : `upstreams can interpret ${prefix} as ${other.prefix} of source ${other.source}`,
          'give each prefix to one source',
        )
    }
    if (upstreams === undefined) continue
    const known = Object.keys(upstreams)
    for (const [position, upstream] of (permissions.upstreams ?? []).entries()) {
      if (known.includes(upstream)) continue
      const near = suggest(upstream, known)
      report(
        'C364',
        [...at, 'permissions', 'upstreams', position],
        `unknown upstream "${upstream}"`,
        near === undefined ? `known: ${known.join(', ')}` : `did you mean "${near}"?`,
      )
    }
  }
  return found
}

/** Adapts a message of `parseMount()`, which mentions a mount, to a path prefix. */
function explain(problem: string): string {
  return problem.replace('a mount must', 'it must')
}
