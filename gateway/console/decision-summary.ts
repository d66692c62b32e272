import { type AccessLogOptions, loggedSubject } from '../observability/access-log.ts'
import { decisionOf } from '../observability/decision.ts'
import type { DecisionRecord } from '../observability/decision-recorder.ts'

/**
 * `allow`, `deny` and `challenge` are decisions about the caller. `reject`: the gateway rejected the request before a
 * decision. `report`: the gateway allowed the request, but an enforced policy would have denied it. `none`: a request
 * without a policy, such as a document of the gateway.
 */
export const OUTCOMES = ['allow', 'deny', 'challenge', 'reject', 'report', 'none'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** A row of the list of decisions. The texts are the same as in the access log. */
export type DecisionSummary = {
  readonly requestId: string
  readonly timeMs: number
  readonly outcome: Outcome
  readonly status: number
  /** The name of the rejection in docs/rejections.md; null without a rejection. */
  readonly code: string | null
  readonly reason: string | null
  readonly method: string | null
  readonly path: string | null
  readonly route: string | null
  readonly file: string | null
  readonly line: number | null
  readonly client: string | null
  readonly subject: string | null
  readonly clientAddress: string
}

/** Conditions of the list. An empty text has no effect. */
export type DecisionFilter = Readonly<Record<(typeof FILTER_NAMES)[number], string>>

/** Names of the conditions, which are also the names of the query parameters. */
export const FILTER_NAMES = [
  'outcome',
  'status',
  'code',
  'route',
  'file',
  'client',
  'subject',
  'method',
  'path',
] as const

export function summarize(
  { entry, rejection, auditOnlyDenial, policy }: DecisionRecord,
  subject: AccessLogOptions['subject'],
): DecisionSummary {
  const { caller, decision } = entry
  const shown = auditOnlyDenial === undefined || rejection !== undefined ? rejection : auditOnlyDenial
  const outcome =
    rejection === undefined && auditOnlyDenial !== undefined
      ? 'report'
      : (decision?.decision ?? (rejection === undefined && entry.errorType === undefined ? 'none' : 'reject'))
  return {
    requestId: entry.requestId,
    timeMs: entry.timeMs,
    outcome,
    status: entry.status,
    code: shown?.rejected ?? entry.errorType ?? null,
    reason: (shown && decisionOf(shown)?.reason) ?? null,
    method: entry.method ?? null,
    path: entry.path ?? null,
    route: policy?.name ?? null,
    file: policy?.source.file ?? null,
    line: policy?.source.line ?? null,
    client: caller?.clientId ?? null,
    subject: (caller && loggedSubject(caller, subject)) ?? null,
    clientAddress: entry.clientAddress,
  }
}

/** Returns whether a row matches all conditions. `status` is a status such as `403` or a class such as `4xx`. */
export function matchesFilter(summary: DecisionSummary, filter: DecisionFilter): boolean {
  const { outcome, status, code, route, file, client, subject, method, path } = filter
  return (
    (outcome === '' || summary.outcome === outcome) &&
    (status === '' || hasStatus(summary.status, status)) &&
    (code === '' || summary.code === code || summary.reason === code) &&
    (route === '' || (summary.route?.includes(route) ?? false)) &&
    (file === '' || (summary.file?.includes(file) ?? false)) &&
    (client === '' || summary.client === client || summary.clientAddress === client) &&
    (subject === '' || summary.subject === subject) &&
    (method === '' || summary.method === method.toUpperCase()) &&
    (path === '' || (summary.path?.includes(path) ?? false))
  )
}

function hasStatus(status: number, wanted: string): boolean {
  return /^[1-5]xx$/i.test(wanted) ? String(status)[0] === wanted[0] : String(status) === wanted
}
