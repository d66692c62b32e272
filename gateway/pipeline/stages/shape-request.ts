import { editHeaders } from '../../../policy-engine/decide/header-edit.ts'
import type { ForwardableContext } from '../request-context.ts'
import { isHttp2 } from '../send-reply.ts'

/**
 * Builds the headers of the upstream request. `clean-headers.ts` has removed the headers that clients must not set. The
 * gateway appends its own headers last, so that no nominated or repeated header can remove the gateway's headers.
 * Reads `request`, `canonical`, `route`, `caller`, `requestId` and `clientAddress`. Sets `upstreamHeaders`, which reuses and
 * extends the list `canonical.headers.endToEnd` unless the policy edits these headers.
 */
export function shapeRequest(context: ForwardableContext): undefined {
  const { caller, route, services } = context
  const { headers } = context.canonical
  const api = route.kind === 'api' ? route : undefined
  const edit = api?.requestHeaders
  // Edits a copy: the conditions of a WebSocket session need the original headers for later checks.
  const shaped = edit === undefined ? headers.endToEnd : editHeaders(headers.endToEnd, edit)
  if (api === undefined || api.forwardsCredentials) {
    if (headers.authorization !== undefined) shaped.push('authorization', headers.authorization)
    if (headers.cookie !== undefined) shaped.push('cookie', headers.cookie)
  }
  // The authorization server verifies the DPoP proofs of its own endpoints.
  if (api === undefined && headers.proof !== undefined) shaped.push('dpop', headers.proof)
  if (headers.body === 'sized') shaped.push('content-length', String(headers.contentLength))
  if (caller !== undefined) {
    for (const part of caller.identityHeaders) shaped.push(part)
    if (api?.claimHeaders !== undefined) for (const part of api.claimHeaders(caller)) shaped.push(part)
    if (api?.assert !== undefined) shaped.push('x-auth-assertion', api.assert(caller, services.nowMs()))
  }
  shaped.push('x-request-id', context.requestId, 'x-forwarded-for', context.clientAddress)
  for (const part of services.fixedHeaders) shaped.push(part)
  // RFC 9110 section 7.6.3: the version of the received request.
  shaped.push('via', isHttp2(context.request) ? '2.0 scopegate' : '1.1 scopegate')
  context.upstreamHeaders = shaped
  return undefined
}
