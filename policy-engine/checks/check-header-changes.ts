import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { rawRoutes } from '../load/raw-routes.ts'
import { explainUnusable } from './check-header-matches.ts'

/** Headers that the gateway itself sends to clients, and headers of the WebSocket handshake (RFC 6455 section 4). */
const OWN = /^(?:access-control-|ratelimit$|ratelimit-|www-authenticate$|dpop-nonce$|sec-websocket-)/

type Change = {
  readonly name: string
  readonly key: string
  readonly at: YamlPath
  readonly part: 'key' | 'value'
}

/** Finds invalid header changes. Codes: P312 header that policies cannot change; P313 header with two changes. */
export function checkHeaderChanges(document: YamlDocument): readonly Diagnostic[] {
  const { defaults } = (document.value ?? {}) as { defaults?: { headers?: unknown } | null }
  return [
    ...checkHeaderRules(defaults?.headers, ['defaults', 'headers'], document),
    ...rawRoutes(document).flatMap(({ route, index }) =>
      checkHeaderRules(route['headers'], ['routes', index, 'headers'], document),
    ),
  ]
}

/** Checks the `headers` of one route, of defaults or of a preset at the path `at`. */
export function checkHeaderRules(
  rules: unknown,
  at: YamlPath,
  document: YamlDocument,
): readonly Diagnostic[] {
  return ['request', 'response'].flatMap((direction) => {
    const seen = new Map<string, string>()
    return changesOf(toRecord(rules)[direction], [...at, direction]).flatMap((change) => {
      const { name, key } = change
      const location = () => document.locationOf(change.at, change.part)
      const unusable = OWN.test(name)
        ? `the gateway sets ${name}, so a policy cannot change it`
        : explainUnusable(name)
      if (unusable !== undefined) return [diagnostic('P312', unusable, location())]
      const earlier = seen.get(name)
      seen.set(name, key)
      if (earlier === undefined) return []
      const twice = earlier === key ? `is in ${key} twice` : `is in ${earlier} and in ${key}`
      return [
        diagnostic('P313', `${name} ${twice}`, location(), {
          hint: 'set replaces existing values, add keeps them',
        }),
      ]
    })
  })
}

function changesOf(changes: unknown, at: YamlPath): readonly Change[] {
  const { set, add, remove } = toRecord(changes)
  const inMap = (key: string, values: unknown) =>
    Object.keys(toRecord(values)).map((name) => ({
      name: name.toLowerCase(),
      key,
      at: [...at, key, name],
      part: 'key' as const,
    }))
  const removed = (Array.isArray(remove) ? remove : []).flatMap((name: unknown, index) =>
    typeof name === 'string'
      ? [{ name: name.toLowerCase(), key: 'remove', at: [...at, 'remove', index], part: 'value' as const }]
      : [],
  )
  return [...inMap('set', set), ...inMap('add', add), ...removed]
}
