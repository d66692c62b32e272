import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { parseMount, rawMount } from '../load/mount.ts'
import { rawRoutes } from '../load/raw-routes.ts'
import { type PathTemplate, parsePathTemplate } from '../match/path-template.ts'

/** Finds invalid rewrites. Codes: P108 malformed path; P203 parameter that the path of the route does not have. */
export function checkRewrites(document: YamlDocument): readonly Diagnostic[] {
  const { routes } = (document.value ?? {}) as { routes?: unknown }
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: unknown, index) => {
    const { match, rewrite } = (route ?? {}) as {
      match?: { path?: unknown } | null
      rewrite?: { path?: unknown } | null
    }
    const path = rewrite?.path
    if (typeof path !== 'string' || path === '') return []
    const at: YamlPath = ['routes', index, 'rewrite', 'path']
    const template = parsePathTemplate(path)
    if ('problem' in template)
      return [diagnostic('P108', template.problem, document.locationOf(at), { hint: template.hint })]
    const own = typeof match?.path === 'string' ? parsePathTemplate(match.path) : { problem: 'no path' }
    // Another check reports an invalid `match.path`.
    if ('problem' in own) return []
    return unknownParts(template, own).map(({ message, hint }) =>
      diagnostic('P203', message, document.locationOf(at), { hint }),
    )
  })
}

function unknownParts(
  rewrite: PathTemplate,
  route: PathTemplate,
): readonly { message: string; hint: string }[] {
  const known = parametersOf(route)
  const problems = parametersOf(rewrite)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = suggest(name, known)
      const all =
        known.length === 0
          ? 'its path has no parameters'
          : `it has ${known.map((one) => `{${one}}`).join(', ')}`
      return {
        message: `the route has no parameter {${name}}`,
        hint: near === undefined ? all : `did you mean {${near}}?`,
      }
    })
  if (rewrite.below && !route.below)
    problems.push({
      message: 'the path of the route does not end in **, so the rewrite cannot use **',
      hint: 'remove /** here, or add it to match.path',
    })
  return problems
}

function parametersOf(template: PathTemplate): readonly string[] {
  return template.segments.flatMap((one) => ('parameter' in one ? [one.parameter] : []))
}

/**
 * Checks the mounts of `defaults` and of routes.
 * Codes: P108 not a prefix; P302 reserved by Scopegate; P315 (warning) every path repeats the mount of `defaults`.
 */
export function checkMounts(document: YamlDocument): readonly Diagnostic[] {
  const mount = rawMount((document.value as { defaults?: unknown } | null)?.defaults)
  return [
    ...checkMount(mount, ['defaults', 'mount'], document),
    ...rawRoutes(document).flatMap(({ route, index }) =>
      checkMount(rawMount(route), ['routes', index, 'mount'], document),
    ),
    ...checkRepetition(mount, document),
  ]
}

function checkMount(mount: unknown, at: YamlPath, document: YamlDocument): readonly Diagnostic[] {
  if (typeof mount !== 'string' || mount === '') return []
  const parsed = parseMount(mount)
  if ('prefix' in parsed) return []
  return [diagnostic(parsed.code, parsed.problem, document.locationOf(at), { hint: parsed.hint })]
}

/**
 * Warns only if all paths repeat the mount. A single path that repeats the mount can be correct: an API at `/trains`
 * may have a collection `trains`.
 */
function checkRepetition(mount: unknown, document: YamlDocument): readonly Diagnostic[] {
  if (typeof mount !== 'string' || mount === '/') return []
  const mounted = rawRoutes(document).filter(({ route }) => rawMount(route) === undefined)
  const paths = mounted.map(({ route }) => String((route['match'] as { path?: unknown } | null)?.path))
  const [first] = paths
  if (first === undefined || !paths.every((path) => `${path}/`.startsWith(`${mount}/`))) return []
  const message = `every path repeats the mount: clients reach the first route at ${mount}${first}`
  return [
    diagnostic('P315', message, document.locationOf(['defaults', 'mount']), {
      severity: 'warning',
      hint: `write match.path without ${mount}`,
    }),
  ]
}

/**
 * Finds routes to the authorization server that can reach a path below `/internal`, which is for gateways only.
 * The upstream path must start with a literal segment other than `internal`. A parameter could have the value
 * `internal`. Code: P307.
 */
export function checkInternalPaths(
  document: YamlDocument,
  authorizationServers: ReadonlySet<string>,
): readonly Diagnostic[] {
  const { upstream, routes } = (document.value ?? {}) as { upstream?: unknown; routes?: unknown }
  if (typeof upstream !== 'string' || !authorizationServers.has(upstream) || !Array.isArray(routes)) return []
  return routes.flatMap((route: unknown, index) => {
    const { match, rewrite } = (route ?? {}) as {
      match?: { path?: unknown } | null
      rewrite?: { path?: unknown } | null
    }
    const key = typeof rewrite?.path === 'string' ? 'rewrite' : 'match'
    const path = key === 'rewrite' ? rewrite?.path : match?.path
    if (typeof path !== 'string' || !mayBeInternal(path)) return []
    const at: YamlPath = ['routes', index, key, 'path']
    const message = `${path} can match a path below /internal of the authorization server ${upstream}`
    return [
      diagnostic('P307', message, document.locationOf(at), {
        hint: 'start the path with a literal segment other than internal',
      }),
    ]
  })
}

/**
 * Returns whether a path template can match a path below `/internal`. Invalid templates return false, because other
 * checks report them.
 */
function mayBeInternal(path: string): boolean {
  const template = parsePathTemplate(path)
  if ('problem' in template) return false
  const [first] = template.segments
  if (first === undefined) return template.below
  return 'parameter' in first || first.literal.toLowerCase() === 'internal'
}

/** Finds routes with `websocket` but without GET, which the handshake requires (RFC 6455 section 4.1). Code: P306. */
export function checkWebsockets(document: YamlDocument): readonly Diagnostic[] {
  const routes = (document.value as { routes?: unknown } | null)?.routes
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: { websocket?: unknown; match?: { methods?: unknown } } | null, index) => {
    const methods = route?.match?.methods
    if (route?.websocket !== true || !Array.isArray(methods) || methods.includes('GET')) return []
    const location = document.locationOf(['routes', index, 'websocket'])
    return [
      diagnostic(
        'P306',
        'a WebSocket handshake is a GET request, but this route does not match GET',
        location,
        {
          hint: 'add GET to its methods, or remove websocket',
        },
      ),
    ]
  })
}

/** Finds routes with `mcp` but without POST, the only method with MCP messages. Code: P317. */
export function checkMcp(document: YamlDocument): readonly Diagnostic[] {
  return rawRoutes(document).flatMap(({ route, index }) => {
    const { methods } = toRecord(route['match'])
    if (route['mcp'] === undefined || !Array.isArray(methods) || methods.includes('POST')) return []
    const location = document.locationOf(['routes', index, 'mcp'])
    return [
      diagnostic('P317', 'MCP messages are POST requests, but this route does not match POST', location, {
        hint: 'add POST to its methods, or remove mcp',
      }),
    ]
  })
}
