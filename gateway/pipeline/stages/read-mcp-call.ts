import { rejectAnonymous } from '../../../policy-engine/decide/check-access.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { checkMcpHeaders, NO_MCP_MESSAGE } from '../../../policy-engine/match/mcp-headers.ts'
import { checkMcpContent, readMcpCall as readCall } from '../../mcp/read-call.ts'
import type { ApiRoute } from '../../snapshot/route.ts'
import { readAccessToken, validateAccessToken } from '../authenticate.ts'
import { NOT_DECIDABLE } from '../decision-endpoint.ts'
import { readBody } from '../read-body.ts'
import type { CanonicalContext } from '../request-context.ts'
import { sendContinue } from '../send-reply.ts'

/** Largest body of an MCP message. Bytes. */
const BODY_LIMIT_BYTES = 64 * 1024
const TOO_LARGE: Rejection = Object.freeze({ rejected: 'body_too_large', limitBytes: BODY_LIMIT_BYTES })

/**
 * Reads the MCP call from the body of a POST request, if a route of the path has `mcp.readBody`. Otherwise, the body stays
 * unread. Before that, validates the token, so that a client without a valid token cannot make the gateway keep a body.
 * Later stages check the audience of the token and the proof of possession, because both need the route.
 * Reads `method`, `canonical` and `request`. Sets `body`, and `mcpCall` in the headers of `canonical`, and the fields of
 * the stages `readToken` and `validateToken`.
 * @returns a promise, or a rejection: of `readToken` and `validateToken`, `token_missing` (401), `mcp_body_invalid` or
 * `mcp_headers_differ` (400), `body_too_large` (413), `body_timed_out` (408), or `route_unknown` (404) if this server does
 * not get the body.
 */
export function readMcpCall(
  context: CanonicalContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { method, canonical, services } = context
  const routes = services.snapshot().mcpRoutes(method, canonical.path)
  if (routes === undefined) return undefined
  if (!services.forwards) return NOT_DECIDABLE
  const candidates = routes.filter((route) => route.kind === 'api')
  const rejection = authenticate(context, candidates)
  if (!(rejection instanceof Promise)) return rejection ?? readCallOf(context, candidates)
  return rejection.then((found) => {
    if (found !== undefined || context.response.destroyed) return found
    return readCallOf(context, candidates)
  })
}

/** Rejects a client that no route of the path allows. The routes have the same path, so they have one resource. */
function authenticate(
  context: CanonicalContext,
  routes: readonly ApiRoute[],
): Rejection | undefined | Promise<Rejection | undefined> {
  const [route] = routes
  if (route === undefined) return undefined
  const rejection = readAccessToken(context, route)
  if (rejection !== undefined) return rejection
  return context.token === undefined ? rejectAnonymous(routes) : validateAccessToken(context, route)
}

function readCallOf(
  context: CanonicalContext,
  routes: readonly ApiRoute[],
): Rejection | Promise<Rejection | undefined> {
  const { headers } = context.canonical
  if (headers.body === 'none') return NO_MCP_MESSAGE
  if (headers.contentLength > BODY_LIMIT_BYTES) return TOO_LARGE
  // The route of the request is unknown until the gateway has read the body.
  const timeoutMs = Math.max(...routes.map((route) => route.timeoutMs))
  return checkMcpContent(headers) ?? readFromBody(context, timeoutMs)
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
