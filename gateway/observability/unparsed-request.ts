import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { AccessEntry } from './access-log.ts'
import type { DecisionRecord } from './decision-recorder.ts'

/** A local reply to bytes that are not a valid request. */
export type UnparsedRequest = {
  readonly requestId: string
  readonly status: number
  readonly rejection: Rejection
  /** IP address of the connection. Empty if the connection is already closed. */
  readonly peer: string
}

/** Returns the access log entry of an unparsed request. The received bytes are not trusted, so most fields are empty. */
export function unparsedEntry(unparsed: UnparsedRequest, timeMs: number): AccessEntry {
  return {
    timeMs,
    requestId: unparsed.requestId,
    isDecision: false,
    trace: undefined,
    method: undefined,
    path: undefined,
    routeFields: '',
    status: unparsed.status,
    durationMs: 0,
    upstreamStatus: 0,
    upstreamMs: 0,
    clientAddress: unparsed.peer,
    userAgent: undefined,
    decision: undefined,
    would: undefined,
    caller: undefined,
    rateLimitRemaining: undefined,
    rateLimitRejected: undefined,
    policyPlace: undefined,
    tokenFault: undefined,
    scopesMissing: [],
    audience: undefined,
    condition: undefined,
    session: undefined,
    errorType: unparsed.rejection.rejected,
    errorCode: undefined,
  }
}

export function unparsedRecord({ rejection }: UnparsedRequest, entry: AccessEntry): DecisionRecord {
  return {
    entry,
    rejection,
    auditOnlyDenial: undefined,
    policy: undefined,
    resource: undefined,
    credential: 'bearer',
    textLength: 0,
  }
}
