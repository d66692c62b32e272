import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { isRecord, toRecord } from '../../platform/diagnostics/record.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import type { Presets } from '../format/presets.ts'
import { checkSharedLimitNames } from '../format/shared-limits.ts'

/** Names that policies may refer to. If a member is undefined, the loader does not check references of this kind. */
export type References = {
  readonly catalogue: ScopeCatalogue | undefined
  /** Names of the upstreams in config/upstreams.yaml, and of the upstreams that the policy source defines. */
  readonly upstreams: ReadonlySet<string> | undefined
  /** Whether the gateway has a decision endpoint. Without this endpoint, a policy requires an upstream. */
  readonly hasDecisions: boolean
  /**
   * Presets of config/presets.yaml. The loader always checks references to presets, because a missing preset could have
   * restricted a route.
   */
  readonly presets: Presets
}

/**
 * Finds references to unknown names.
 * Reads all valid parts of the file, so that a misspelled key does not hide a misspelled scope.
 * Codes: P103 missing upstream; P201 unknown scope; P202 unknown upstream; P204 advertised scope that is not in `any`;
 * P206 unknown preset; P207 unknown shared limit.
 */
export function checkReferences(document: YamlDocument, references: References): readonly Diagnostic[] {
  const file = toRecord(document.value)
  // P101 reports a misspelled key.
  const isMisspelled = Object.keys(file).some((key) => suggest(key, ['upstream']) !== undefined)
  const diagnostics =
    file['upstream'] === undefined && isMisspelled
      ? []
      : checkUpstream(file['upstream'], document, references)
  const { extends: extended, sharedLimits } = toRecord(file['defaults'])
  const limits = new Set(references.presets.limits.keys())
  diagnostics.push(...checkPreset(extended, ['defaults', 'extends'], document, references.presets))
  diagnostics.push(...checkSharedLimitNames(sharedLimits, ['defaults', 'sharedLimits'], document, limits))
  for (const [index, route] of list(file['routes']).entries()) {
    const { extends: own, sharedLimits: names } = toRecord(route)
    diagnostics.push(...checkSharedLimitNames(names, ['routes', index, 'sharedLimits'], document, limits))
    diagnostics.push(...checkPreset(own, ['routes', index, 'extends'], document, references.presets))
    const scopes = toRecord(toRecord(route)['scopes'])
    for (const key of ['all', 'any']) {
      for (const [position, scope] of list(scopes[key]).entries()) {
        const path: YamlPath = ['routes', index, 'scopes', key, position]
        diagnostics.push(...checkScope(scope, path, document, references.catalogue))
      }
    }
    diagnostics.push(...checkAdvertised(scopes, ['routes', index, 'scopes', 'advertise'], document))
  }
  return diagnostics
}

function checkUpstream(
  name: unknown,
  document: YamlDocument,
  { upstreams: known, hasDecisions }: References,
): Diagnostic[] {
  if (name === undefined && !hasDecisions && isRecord(document.value))
    return [
      diagnostic('P103', 'the key "upstream" is missing in this file', document.locationOf([]), {
        hint: 'write the name of an entry of config/upstreams.yaml. Only with "decisions" in gateway.yaml, the key is optional',
      }),
    ]
  if (known === undefined || typeof name !== 'string' || name === '' || known.has(name)) return []
  const near = suggest(name, known)
  const hint = near === undefined ? `known: ${[...known].join(', ')}` : `did you mean "${near}"?`
  const message = `upstream ${JSON.stringify(name)} is not defined`
  return [diagnostic('P202', message, document.locationOf(['upstream']), { hint })]
}

function checkPreset(
  name: unknown,
  path: YamlPath,
  document: YamlDocument,
  { byName }: Presets,
): readonly Diagnostic[] {
  if (typeof name !== 'string' || name === '' || byName.has(name)) return []
  const near = suggest(name, byName.keys())
  const known = byName.size === 0 ? 'the file has no presets' : `known: ${[...byName.keys()].join(', ')}`
  const hint = near === undefined ? known : `did you mean "${near}"?`
  const message = `preset ${JSON.stringify(name)} is not defined`
  return [diagnostic('P206', message, document.locationOf(path), { hint })]
}

function checkScope(
  name: unknown,
  path: YamlPath,
  document: YamlDocument,
  catalogue: ScopeCatalogue | undefined,
): Diagnostic[] {
  if (catalogue === undefined || typeof name !== 'string' || name === '' || catalogue.has(name)) return []
  if (/[\s,]/.test(name.trim())) {
    const several = name.split(/[\s,]+/).filter(Boolean)
    const hint = `write each scope as a separate item: ${several.join(', ')}`
    return [
      diagnostic('P201', `${JSON.stringify(name)} contains several scopes`, document.locationOf(path), {
        hint,
      }),
    ]
  }
  const near = suggest(name, catalogue.keys())
  const hint =
    near === undefined
      ? 'add the scope to the catalogue, or use a scope of the catalogue'
      : `did you mean "${near}"?`
  const message = `scope ${JSON.stringify(name)} is not in the scope catalogue`
  return [diagnostic('P201', message, document.locationOf(path), { hint })]
}

function checkAdvertised(
  { advertise, any }: Readonly<Record<string, unknown>>,
  path: YamlPath,
  document: YamlDocument,
): Diagnostic[] {
  const enough = list(any)
  if (typeof advertise !== 'string' || enough.includes(advertise)) return []
  const hint =
    enough.length === 0
      ? 'remove "advertise": without "any", the challenge names all scopes of "all"'
      : `choose one of ${enough.join(', ')}`
  const message = `the advertised scope ${JSON.stringify(advertise)} must be in "any"`
  return [diagnostic('P204', message, document.locationOf(path), { hint })]
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
