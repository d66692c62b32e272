import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { editHeaders, type HeaderEdit } from '../../../policy-engine/decide/header-edit.ts'
import type { CleanHeaders } from '../../../policy-engine/match/clean-headers.ts'

export type ShapeRequestInput = {
  readonly headers: CleanHeaders
  /** Header changes of the policy; undefined: no changes. */
  readonly edit: HeaderEdit | undefined
  /** undefined: an anonymous request, which gets no identity headers. */
  readonly caller: Caller | undefined
  /** Signed assertion about the caller, for upstreams that require it (upstream-identity/assertions.ts). */
  readonly assertion: string | undefined
  /** Whether the upstream receives `Authorization` and `Cookie`. */
  readonly forwardsCredentials: boolean
  /** Whether the upstream receives the DPoP proof. The authorization server verifies proofs for its own endpoints. */
  readonly forwardsProof: boolean
  readonly requestId: string
  readonly clientAddress: string
  /** `x-forwarded-host` and `x-forwarded-proto` of the base URL, and `via`: constant for all requests. */
  readonly fixedHeaders: readonly string[]
}

/**
 * Stage 7: builds the headers of the forwarded request. `clean-headers.ts` has removed the headers that clients must
 * not set. The gateway appends its own headers last, so that no nominated or repeated header can remove them.
 * Reads the canonical headers, `caller`, `requestId`, `clientAddress`, the assertion and the header changes of the
 * route.
 * @returns name, value, name, value; reuses and extends the list `headers.endToEnd` unless the policy changes it.
 */
export function shapeRequest(input: ShapeRequestInput): string[] {
  const { headers, caller } = input
  // Edits a copy: the conditions of a WebSocket session read the original headers again later.
  const shaped = input.edit === undefined ? headers.endToEnd : editHeaders(headers.endToEnd, input.edit)
  if (input.forwardsCredentials) {
    if (headers.authorization !== undefined) shaped.push('authorization', headers.authorization)
    if (headers.cookie !== undefined) shaped.push('cookie', headers.cookie)
  }
  if (input.forwardsProof && headers.proof !== undefined) shaped.push('dpop', headers.proof)
  if (headers.body === 'sized') shaped.push('content-length', String(headers.contentLength))
  if (caller !== undefined) for (const part of caller.identityHeaders) shaped.push(part)
  if (input.assertion !== undefined) shaped.push('x-auth-assertion', input.assertion)
  shaped.push('x-request-id', input.requestId, 'x-forwarded-for', input.clientAddress)
  for (const part of input.fixedHeaders) shaped.push(part)
  return shaped
}
