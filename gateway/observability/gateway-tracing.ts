import type { IncomingMessage } from 'node:http'
import type { Span, Tracing } from '../../platform/tracing/tracing.ts'
import type { TraceTrust } from '../../platform/tracing/tracing-schema.ts'

/** Tracing of a gateway, and the peers whose trace the gateway continues. */
export type GatewayTracing = Tracing & { readonly trustIncoming: TraceTrust }

/**
 * Starts the server span of a request. The span gets its name and its attributes when the request ends.
 * @param isProxied whether the peer is a trusted proxy.
 */
export function startRequestSpan(
  tracing: GatewayTracing,
  request: IncomingMessage,
  isProxied: boolean,
): Span {
  const { trustIncoming } = tracing
  const isTrusted = trustIncoming === 'always' || (trustIncoming === 'trusted-proxies' && isProxied)
  return tracing.startServerSpan('HTTP', isTrusted ? request.headers : undefined)
}
