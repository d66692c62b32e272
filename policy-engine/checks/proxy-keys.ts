import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import type { Presets } from '../format/presets.ts'
import type { PolicyRoute } from '../load/policy-route.ts'

/** The names of the headers with credentials of the gateway, by upstream. */
export type CredentialHeaders = ReadonlyMap<string, string>

/** Keys that have an effect only if the gateway forwards the request. */
const PROXY_KEYS = [
  'mount',
  'rewrite',
  'timeout',
  'idleTimeout',
  'retries',
  'bodyLimit',
  'websocket',
  'mcp',
  'headers',
] as const

/**
 * Finds keys that need the proxy in a policy without an upstream. Only the decision endpoint serves such a policy, and
 * a limit without effect must not pass unnoticed. Code: P316.
 */
export function findProxyKeys(document: YamlDocument, presets: Presets): readonly Diagnostic[] {
  const file = toRecord(document.value)
  if (file['upstream'] !== undefined) return []
  const routes = Array.isArray(file['routes']) ? file['routes'] : []
  const entries: readonly (readonly [unknown, YamlPath])[] = [
    [file['defaults'], ['defaults']],
    ...routes.map((route: unknown, index) => [route, ['routes', index]] as const),
  ]
  return entries.flatMap(([value, at]) => {
    const entry = toRecord(value)
    const preset = toRecord(presets.byName.get(String(entry['extends'])))
    const hasAssertion = (entry['upstreamAuth'] ?? preset['upstreamAuth']) === 'assertion'
    return [
      ...(hasAssertion ? [reportAssertion(at, entry, document)] : []),
      ...proxyKeysOf(entry).map((key) => report(key, [...at, key], document)),
      ...proxyKeysOf(preset).map((key) =>
        report(`${key} of preset ${entry['extends']}`, [...at, 'extends'], document),
      ),
    ]
  })
}

function proxyKeysOf(entry: Readonly<Record<string, unknown>>): readonly string[] {
  return PROXY_KEYS.filter((key) => entry[key] !== undefined && entry[key] !== false)
}

function report(name: string, at: YamlPath, document: YamlDocument): Diagnostic {
  return diagnostic('P316', `${name} has no effect without an upstream`, document.locationOf(at), {
    hint: 'configure it in the ingress and remove it here, or add the key "upstream"',
  })
}

/** The name of the upstream is the audience of an assertion. */
function reportAssertion(
  at: YamlPath,
  entry: Readonly<Record<string, unknown>>,
  document: YamlDocument,
): Diagnostic {
  const key = entry['upstreamAuth'] === undefined ? 'extends' : 'upstreamAuth'
  return diagnostic(
    'P316',
    'upstreamAuth: assertion has no effect without an upstream',
    document.locationOf([...at, key]),
    { hint: 'add the key "upstream": its name is the audience of the assertion' },
  )
}

/**
 * Reports the routes with an upstream whose keys the decision endpoint does not apply. Code: N303, one note for each
 * policy.
 * @param credentialHeaders the headers with credentials of the gateway, by upstream.
 */
export function noteProxyRoutes(
  routes: readonly PolicyRoute[],
  credentialHeaders: CredentialHeaders,
): readonly Diagnostic[] {
  const settingsOf = (route: PolicyRoute): readonly string[] => [
    ...proxySettingsOf(route),
    ...(credentialHeaders.has(route.upstream ?? '') ? ['credentials of the upstream'] : []),
  ]
  const found = routes.filter((route) => settingsOf(route).length > 0)
  return [...Map.groupBy(found, (route) => route.policy).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const names = group.map((route) => route.name.slice(route.policy.length + 1)).join(', ')
    const used = new Set(group.flatMap(settingsOf))
    const keys = [...PROXY_KEYS, 'credentials of the upstream'].filter((key) => used.has(key)).join(', ')
    const location = { ...first.source, length: 1, text: undefined }
    const message = `the decision endpoint does not apply ${keys} at ${names}`
    return [diagnostic('N303', message, location, { severity: 'note' })]
  })
}

/**
 * Reports the routes that forward the credentials of callers to an upstream with other credentials in `Authorization`.
 * Code: N304, one note for each policy.
 */
export function noteReplacedCredentials(
  routes: readonly PolicyRoute[],
  credentialHeaders: CredentialHeaders,
): readonly Diagnostic[] {
  const found = routes.filter(
    ({ upstreamAuth, upstream = '' }) =>
      upstreamAuth === 'forward' && credentialHeaders.get(upstream)?.toLowerCase() === 'authorization',
  )
  return [...Map.groupBy(found, (route) => route.policy).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const names = group.map((route) => route.name.slice(route.policy.length + 1)).join(', ')
    const location = { ...first.source, length: 1, text: undefined }
    const message = `upstream ${first.upstream} gets the Authorization header of the gateway, not of the caller, at ${names}`
    return [diagnostic('N304', message, location, { severity: 'note' })]
  })
}

function proxySettingsOf(route: PolicyRoute): readonly (typeof PROXY_KEYS)[number][] {
  if (route.upstream === undefined) return []
  const settings: Readonly<Record<(typeof PROXY_KEYS)[number], unknown>> = {
    mount: route.mount,
    rewrite: route.mount === undefined ? route.rewritePath : undefined,
    timeout: route.timeoutMs,
    idleTimeout: route.idleTimeoutMs,
    retries: route.retries,
    bodyLimit: route.bodyLimitBytes,
    websocket: route.websocket || undefined,
    mcp: route.mcp,
    headers: route.headers,
  }
  return PROXY_KEYS.filter((key) => settings[key] !== undefined)
}
