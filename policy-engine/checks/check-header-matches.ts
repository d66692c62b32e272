import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { rawRoutes } from '../load/raw-routes.ts'
import { headerKind } from '../match/header-kind.ts'
import { comparesHeaders, MCP_VERSION } from '../match/mcp-headers.ts'

/**
 * Finds header requirements that no request can satisfy.
 * Codes: P311 unreachable route; P312 duplicate header, or header that policies cannot read.
 */
export function checkHeaderMatches(document: YamlDocument): readonly Diagnostic[] {
  return rawRoutes(document).flatMap(({ route, index }) => {
    const headers = (route['match'] as { headers?: unknown } | null | undefined)?.headers
    if (!isRecord(headers)) return []
    const entries = Object.entries(headers)
    const version = entries.find(([name]) => name.toLowerCase() === MCP_VERSION)?.[1]
    const seen = new Set<string>()
    return entries.flatMap(([written, value]) => {
      const name = written.toLowerCase()
      const at: YamlPath = ['routes', index, 'match', 'headers', written]
      const isHere = seen.has(name)
      seen.add(name)
      if (isHere) {
        const location = document.locationOf(at, 'key')
        return [diagnostic('P312', `the header ${name} occurs twice`, location, { hint: 'keep one' })]
      }
      const unusable = explainUnusable(name)
      if (unusable !== undefined) return [diagnostic('P312', unusable, document.locationOf(at, 'key'))]
      const unreachable = explainUnreachable(name, value, version)
      return unreachable === undefined
        ? []
        : [diagnostic('P311', unreachable.message, document.locationOf(at), { hint: unreachable.hint })]
    })
  })
}

/**
 * Returns the reason why policies cannot use a header with this name. Returns undefined if policies can use the header.
 */
export function explainUnusable(name: string): string | undefined {
  switch (headerKind(name)) {
    case undefined:
    case 'user-agent':
      return undefined
    case 'managed':
      return `the gateway sets ${name} and removes it from client requests`
    case 'authorization':
    case 'dpop':
    case 'cookie':
      return `${name} holds credentials: use the claims of the token instead`
    default:
      return `${name} applies to one connection, so it never reaches a route`
  }
}

function explainUnreachable(
  name: string,
  value: unknown,
  version: unknown,
): { message: string; hint: string } | undefined {
  if (!name.startsWith('mcp-') || typeof value !== 'string') return undefined
  if (name === MCP_VERSION) return undefined
  if (typeof version === 'string' && !comparesHeaders(version))
    return {
      message: `this route cannot match: ${name} requires MCP revision 2026-07-28 or later in ${MCP_VERSION} (got ${JSON.stringify(version)})`,
      hint: 'write a revision that has the header, such as 2026-07-28',
    }
  if (value.startsWith('=?'))
    return {
      message: 'this route cannot match: Base64 values are decoded before the comparison',
      hint: 'write the decoded value',
    }
  return undefined
}
