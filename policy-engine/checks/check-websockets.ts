import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'

/** Finds routes with `websocket` but without GET, which the handshake requires (RFC 6455 section 4.1). Code: P306. */
export function checkWebsockets(document: YamlDocument): readonly Diagnostic[] {
  const routes = (document.value as { routes?: unknown } | null)?.routes
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: { websocket?: unknown; match?: { methods?: unknown } } | null, index) => {
    const methods = route?.match?.methods
    if (route?.websocket !== true || !Array.isArray(methods) || methods.includes('GET')) return []
    const place = document.placeOf(['routes', index, 'websocket'])
    return [
      diagnostic('P306', 'a WebSocket starts with a GET, which this route does not match', place, {
        hint: 'add GET to its methods, or remove websocket',
      }),
    ]
  })
}
