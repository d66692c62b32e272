import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'
import { isRecord, toRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import type { Presets } from '../format/presets.ts'
import { type PathTemplate, parsePathTemplate } from '../match/path-template.ts'
import { findReservedPath } from '../match/reserved-paths.ts'
import { prefixOf } from './mount.ts'
import type { HeaderValue } from './policy-route.ts'

/** Methods, path and headers that identify a route, and their location. */
export type RouteKey = {
  /** `<policy>/<route>`, with a placeholder for a missing name. */
  readonly name: string
  readonly methods: readonly string[]
  /** Path that clients request, including the mount. */
  readonly path: string
  readonly template: PathTemplate
  /** Required headers, sorted by name. */
  readonly headers: readonly HeaderValue[]
  /** Whether POST requests match by the MCP call in their body. */
  readonly readsMcpBody: boolean
  readonly location: SourceLocation
}

/**
 * Reads the keys of all routes. Includes routes with other errors, so that the same run also finds conflicts.
 * Codes: P108 malformed path; P302 path reserved by Scopegate.
 */
export function readRouteKeys(
  document: YamlDocument,
  presets: Presets,
): {
  claims: readonly RouteKey[]
  diagnostics: readonly Diagnostic[]
} {
  const claims: RouteKey[] = []
  const diagnostics: Diagnostic[] = []
  const file = document.value as { name?: unknown; defaults?: unknown; routes?: unknown } | null
  const routes: readonly unknown[] = Array.isArray(file?.routes) ? file.routes : []
  for (const [index, route] of routes.entries()) {
    const { name, match } = (route ?? {}) as {
      name?: unknown
      match?: { methods?: unknown; path?: unknown; headers?: unknown } | null
    }
    const written = match?.path
    if (typeof written !== 'string' || written === '') continue
    const at: YamlPath = ['routes', index, 'match', 'path']
    const location = document.locationOf(at)
    const own = parsePathTemplate(written)
    const prefix = prefixOf(route, document)
    // `checkMounts()` reports the invalid mount. More diagnostics for the path would report the same mistake again.
    if (prefix === undefined && !('problem' in own)) continue
    const path = `${prefix ?? ''}${written}`
    const template = 'problem' in own ? own : parsePathTemplate(path)
    if ('problem' in template) {
      diagnostics.push(diagnostic('P108', template.problem, location, { hint: template.hint }))
      continue
    }
    const reserved = findReservedPath(template)
    if (reserved !== undefined) {
      const message = `${JSON.stringify(path)} is reserved by Scopegate (${reserved})`
      diagnostics.push(diagnostic('P302', message, location, { hint: 'choose another path' }))
      continue
    }
    const methods = Array.isArray(match?.methods)
      ? match.methods.filter((one) => typeof one === 'string')
      : []
    const headers = readHeaders(match?.headers)
    // Without valid headers, the check cannot determine conflicts.
    if (headers === undefined) continue
    claims.push({
      name: `${textOr(file?.name, '?')}/${textOr(name, `routes[${index}]`)}`,
      methods,
      path,
      template,
      headers,
      readsMcpBody: readsMcpBody(mcpOf(route, file?.defaults, presets)),
      location,
    })
  }
  return { claims, diagnostics }
}

/** Returns whether a value of the key `mcp` makes the gateway read bodies. `filterTools` needs the method in the body. */
export function readsMcpBody(mcp: unknown): boolean {
  const { readBody, filterTools } = toRecord(mcp)
  return readBody === true || filterTools === true
}

function mcpOf(route: unknown, defaults: unknown, presets: Presets): unknown {
  const [own, shared] = [toRecord(route), toRecord(defaults)]
  const preset = presets.byName.get(String(own['extends'] ?? shared['extends']))
  return own['mcp'] ?? shared['mcp'] ?? preset?.mcp
}

function readHeaders(headers: unknown): readonly HeaderValue[] | undefined {
  if (headers === undefined) return []
  if (!isRecord(headers)) return undefined
  const entries = Object.entries(headers)
  if (entries.some(([, value]) => typeof value !== 'string')) return undefined
  return entries
    .map(([name, value]) => ({ name: name.toLowerCase(), value: String(value) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}
