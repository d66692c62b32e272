import type { AccessEntry } from './access-log.ts'

/** What was answered and never became a request, because its head could not be read. */
export type UnreadRequest = {
  readonly requestId: string
  readonly status: number
  /** Name of the refusal. */
  readonly refused: string
  /** Plain address of the connection; empty when it is gone already. */
  readonly peer: string
}

/** The line of it in the access log: little more than that it was there, since nothing of its bytes is believed. */
export function unreadEntry(unread: UnreadRequest, timeMs: number): AccessEntry {
  return {
    timeMs,
    requestId: unread.requestId,
    method: undefined,
    path: undefined,
    routeFields: '',
    status: unread.status,
    durationMs: 0,
    upstreamStatus: 0,
    upstreamMs: 0,
    clientAddress: unread.peer,
    userAgent: undefined,
    decision: undefined,
    would: undefined,
    caller: undefined,
    rateLimitRemaining: undefined,
    scopesMissing: [],
    audience: undefined,
    condition: undefined,
    session: undefined,
    errorType: unread.refused,
    errorCode: undefined,
  }
}
