import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { checkMcpHeaders, NO_MCP_MESSAGE } from '../../../policy-engine/match/mcp-headers.ts'
import { checkMcpContent, readMcpCall as readCall } from '../../mcp/read-call.ts'
import type { Route } from '../../snapshot/route.ts'
import { NOT_DECIDABLE } from '../decision-endpoint.ts'
import { readBody } from '../read-body.ts'
import type { CanonicalContext } from '../request-context.ts'
import { sendContinue } from '../send-reply.ts'

/** Largest body of an MCP message. Bytes. */
const BODY_LIMIT_BYTES = 64 * 1024
const TOO_LARGE: Rejection = Object.freeze({ rejected: 'body_too_large', limitBytes: BODY_LIMIT_BYTES })

/**
 * Reads the MCP call from the body of a POST request, if a route of the path has `mcp.readBody`. Otherwise, the body stays
 * unread. Reads `method`, `canonical` and `request`. Sets `body`, and `mcpCall` in the headers of `canonical`.
 * @returns a promise, or a rejection: `mcp_body_invalid` or `mcp_headers_differ` (400), `body_too_large` (413),
 * `body_timed_out` (408), or `route_unknown` (404) if this server does not get the body.
 */
export function readMcpCall(
  context: CanonicalContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { method, canonical, services } = context
  const routes = services.snapshot().mcpRoutes(method, canonical.path)
  if (routes === undefined) return undefined
  if (!services.forwards) return NOT_DECIDABLE
  const { headers } = canonical
  if (headers.body === 'none') return NO_MCP_MESSAGE
  if (headers.contentLength > BODY_LIMIT_BYTES) return TOO_LARGE
  return checkMcpContent(headers) ?? readFromBody(context, longestTimeoutOf(routes))
}

async function readFromBody(context: CanonicalContext, timeoutMs: number): Promise<Rejection | undefined> {
  const { request, response, canonical } = context
  sendContinue(request, response)
  const body = await readBody(request, { limitBytes: BODY_LIMIT_BYTES, timeoutMs })
  if (body === 'too_large') return TOO_LARGE
  if (body === 'too_slow') return { rejected: 'body_timed_out' }
  const mcpCall = readCall(body.bytes)
  if ('rejected' in mcpCall) return mcpCall
  const contradiction = checkMcpHeaders(canonical.headers, mcpCall)
  if (contradiction !== undefined) return contradiction
  context.body = body.bytes
  context.canonical = { ...canonical, headers: { ...canonical.headers, mcpCall } }
  return undefined
}

/** The route of the request is unknown until the gateway has read the body. */
function longestTimeoutOf(routes: readonly Route[]): number {
  return Math.max(...routes.map((route) => (route.kind === 'api' ? route.timeoutMs : 0)))
}
