import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { editHeaders, type HeaderEdit } from '../../../policy-engine/decide/header-edit.ts'
import type { CleanHeaders } from '../clean-headers.ts'

/** What the headers of a forwarded request are made from. */
export type ShapeRequestInput = {
  readonly headers: CleanHeaders
  /** What the policy changes of it. */
  readonly edit: HeaderEdit | undefined
  /** undefined: nobody, and no identity header says otherwise. */
  readonly caller: Caller | undefined
  /** A signed statement about the caller, for upstreams that want proof (identity/assertions.ts). */
  readonly assertion: string | undefined
  /** Whether `Authorization` and `Cookie` are for the upstream. */
  readonly forwardsCredentials: boolean
  /** Whether the DPoP proof is: the authorization server checks those that are made for it. */
  readonly forwardsProof: boolean
  readonly requestId: string
  readonly clientAddress: string
  /** `x-forwarded-host` and `x-forwarded-proto` of the base URL, `via`: the same for every request. */
  readonly fixedHeaders: readonly string[]
}

/**
 * Stage 7: the headers that the upstream gets. What a client may not say is gone already (clean-headers.ts);
 * what the gateway says is added last, so that nothing nominated or repeated can take it away.
 * @returns name, value, name, value; the list of the input is reused unless it is changed.
 */
export function shapeRequest(input: ShapeRequestInput): string[] {
  const { headers, caller } = input
  // Conditions of a WebSocket are looked at again later: what the client sent stays as it is where it is changed.
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
