import { hash } from 'node:crypto'
import type { TraceContext } from '../../platform/tracing/tracing.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { TokenFault } from '../../policy-engine/decide/rejection.ts'
import { abbreviateList } from './abbreviate-list.ts'
import type { Decision } from './decision.ts'

/** Data of one access log line, without query, token and cookies. */
export type AccessEntry = {
  readonly timeMs: number
  readonly requestId: string
  /** Whether another proxy asked for a decision on the request, and forwards the request itself. */
  readonly isDecision: boolean
  /** IDs of the server span. Undefined without tracing. */
  readonly trace: Pick<TraceContext, 'traceId' | 'spanId'> | undefined
  /** `undefined` if the request is malformed. */
  readonly method: string | undefined
  /** Canonical path; `undefined` if the target has no canonical form. */
  readonly path: string | undefined
  /** Output of `accessLogFields()` for the route; empty without a route. */
  readonly routeFields: string
  readonly status: number
  readonly durationMs: number
  readonly upstreamStatus: number
  readonly upstreamMs: number
  readonly clientAddress: string
  readonly userAgent: string | undefined
  readonly decision: Decision | undefined
  /** The denial that audit-only mode did not apply. */
  readonly would: Decision | undefined
  readonly caller: Caller | undefined
  /** Location of the rule that denied the request; undefined if no rule of a policy denied the request. */
  readonly policyPlace: string | undefined
  /** Reason of an invalid token. */
  readonly tokenFault: TokenFault['reason'] | undefined
  readonly scopesMissing: readonly string[]
  /** For a token with the wrong audience: the resource of the path, and the audience of the token. */
  readonly audience: { readonly expected: string; readonly actual: readonly string[] } | undefined
  readonly condition: string | undefined
  /** Remaining requests of the caller; `undefined` on routes without a rate limit. */
  readonly rateLimitRemaining: number | undefined
  /** Name of the limit that rejected the request. */
  readonly rateLimitRejected: string | undefined
  /** Set after the end of a WebSocket session. Byte counts are the bytes of frames. */
  readonly session:
    | { readonly code: number; readonly fromClient: number; readonly fromUpstream: number }
    | undefined
  /**
   * The reason of a rejection, `upstream_` followed by the `UpstreamFailureReason`, or `client_closed`. `undefined`
   * after a complete response and after a WebSocket session.
   */
  readonly errorType: string | undefined
  /** Error code of the issuer or of the connection to the upstream. */
  readonly errorCode: string | undefined
}

export type AccessLogOptions = {
  /** Writes complete lines. Each line ends with a line break. */
  readonly write: (lines: string) => void
  /** Whether the log level includes access lines. The level can change. */
  readonly isEnabled: () => boolean
  readonly service: string
  /**
   * `plain` logs the subject. `hashed` logs a hash of the subject: a reader can only see which lines have the same
   * subject.
   */
  readonly subject: 'plain' | 'hashed'
}

/** Buffers entries of completed requests and writes the entries shortly afterwards. */
export type AccessLog = {
  /** False: the log level does not include access lines, so callers need not create entries. */
  readonly isEnabled: boolean
  add(entry: AccessEntry): void
  flush(): void
}

const DECISION_MODE = ',"mode":"decision"'
/** Longest time that a line is buffered. Fewer and larger writes save time on a busy gateway. Milliseconds. */
const FLUSH_AFTER_MS = 50
/** Buffer size that triggers a write. Few writes are better, because each write passes through another thread. */
const FLUSH_AT_CHARACTERS = 64 * 1024
/** Largest number of scopes of a route or a token in one line. */
const MAX_SCOPES = 20
/** Length of the truncated SHA-256 in base64url. This length is enough to distinguish subjects. */
const SUBJECT_HASH_CHARACTERS = 16

/**
 * Creates an access log with one JSON line per request. Formats some parts of a line only once per route and per
 * caller.
 */
export function createAccessLog(options: AccessLogOptions): AccessLog {
  const callers = new WeakMap<Caller, string>()
  const service = JSON.stringify(options.service)
  let held = ''
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (held === '') return
    const lines = held
    held = ''
    options.write(lines)
  }

  function callerFields(caller: Caller): string {
    const known = callers.get(caller)
    if (known !== undefined) return known
    const subject = loggedSubject(caller, options.subject)
    const fields =
      field('auth.client_id', caller.clientId) +
      field('auth.subject', subject) +
      field('auth.scopes_granted', scopesOf(caller.scopes))
    callers.set(caller, fields)
    return fields
  }

  return {
    get isEnabled() {
      return options.isEnabled()
    },
    add(entry) {
      held += `{"level":"info","time":"${isoTime(entry.timeMs)}","service":${service},"event":"access","request_id":"${
        entry.requestId
      }"${entry.isDecision ? DECISION_MODE : ''}${entry.trace === undefined ? '' : traceIds(entry.trace)}${field('http.request.method', entry.method)}${field('url.path', entry.path)}${
        entry.routeFields
      },"http.response.status_code":${entry.status},"duration_ms":${milliseconds(entry.durationMs)}`
      if (entry.upstreamStatus !== 0)
        held += `,"upstream.status":${entry.upstreamStatus},"upstream.duration_ms":${milliseconds(entry.upstreamMs)}`
      held +=
        field('client.address', entry.clientAddress) + harmless(field('user_agent.original', entry.userAgent))
      if (entry.decision !== undefined)
        held += `,"auth.decision":"${entry.decision.decision}","auth.reason":"${entry.decision.reason}"`
      if (entry.would !== undefined)
        held += `,"auth.would":"${entry.would.decision}","auth.would_reason":"${entry.would.reason}"`
      if (entry.policyPlace !== undefined) held += harmless(field('policy.place', entry.policyPlace))
      if (entry.tokenFault !== undefined) held += `,"auth.token_fault":"${entry.tokenFault}"`
      if (entry.caller !== undefined) held += callerFields(entry.caller)
      if (entry.session !== undefined)
        held += `,"websocket.close_code":${entry.session.code},"websocket.bytes_from_client":${entry.session.fromClient},"websocket.bytes_from_upstream":${entry.session.fromUpstream}`
      if (entry.scopesMissing.length > 0)
        held += `,"auth.scopes_missing":${JSON.stringify(entry.scopesMissing)}`
      if (entry.audience !== undefined)
        held += `${field('auth.audience_expected', entry.audience.expected)},"auth.audience":${JSON.stringify(abbreviateList(entry.audience.actual))}`
      if (entry.condition !== undefined) held += field('auth.condition', entry.condition)
      if (entry.rateLimitRemaining !== undefined)
        held += `,"rate_limit.remaining":${entry.rateLimitRemaining}`
      if (entry.rateLimitRejected !== undefined)
        held += field('rate_limit.rejected_by', entry.rateLimitRejected)
      if (entry.errorType !== undefined)
        held += field('error.type', entry.errorType) + field('error.code', entry.errorCode)
      held += '}\n'
      if (held.length >= FLUSH_AT_CHARACTERS) flush()
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS)
    },
    flush,
  }
}

/** Returns the subject of a caller as the log shows it. */
export function loggedSubject(
  { subject }: Pick<Caller, 'subject'>,
  setting: AccessLogOptions['subject'],
): string | undefined {
  return subject === undefined || setting === 'plain'
    ? subject
    : hash('sha256', subject, 'base64url').slice(0, SUBJECT_HASH_CHARACTERS)
}

/** Returns scopes for a log line. Returns undefined without scopes. */
export function scopesOf(scopes: Iterable<string>): readonly string[] | undefined {
  const all = [...scopes]
  return all.length === 0 ? undefined : abbreviateList(all, MAX_SCOPES)
}

/** Returns the constant log fields of a route. Call this function once per route. */
export function accessLogFields(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): string {
  return Object.entries(fields)
    .map(([name, value]) => field(name, value))
    .join('')
}

function field(name: string, value: string | readonly string[] | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`
}

/**
 * Escapes DEL and the C1 control characters, which terminals interpret. `JSON.stringify` does not escape these
 * characters.
 */
function harmless(json: string): string {
  return CONTROL.test(json) ? json.replace(CONTROLS, toEscape) : json
}

const CONTROL = /[\x7f-\x9f]/
const CONTROLS = /[\x7f-\x9f]/g

function toEscape(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`
}

/** Both IDs are hexadecimal, so JSON needs no escapes. */
function traceIds({ traceId, spanId }: NonNullable<AccessEntry['trace']>): string {
  return `,"trace_id":"${traceId}","span_id":"${spanId}"`
}

function milliseconds(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

let lastMs = 0
let lastText = ''

/** Formats a time. Caches the text of the last millisecond. */
function isoTime(timeMs: number): string {
  if (timeMs !== lastMs) {
    lastMs = timeMs
    lastText = new Date(timeMs).toISOString()
  }
  return lastText
}
