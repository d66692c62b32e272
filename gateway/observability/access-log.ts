import { hash } from 'node:crypto'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { abbreviateAudience } from './abbreviate-audience.ts'
import type { Decision } from './decision.ts'

/** What an access log line tells about a request. No query, no token, no cookie: they are not in here. */
export type AccessEntry = {
  readonly timeMs: number
  readonly requestId: string
  /** undefined for what is no request. */
  readonly method: string | undefined
  /** Canonical; undefined for a target that has no canonical form. */
  readonly path: string | undefined
  /** `accessLogFields` of the route, and of the upstream that answered. */
  readonly routeFields: string
  readonly status: number
  readonly durationMs: number
  readonly upstreamStatus: number
  readonly upstreamMs: number
  readonly clientAddress: string
  readonly userAgent: string | undefined
  readonly decision: Decision | undefined
  /** What the decision would have been, if the policy were enforced. */
  readonly would: Decision | undefined
  readonly caller: Caller | undefined
  readonly scopesMissing: readonly string[]
  /** Of a token with another audience: the resource of the path, and the audience as the token has it. */
  readonly audience: { readonly expected: string; readonly actual: readonly string[] } | undefined
  /** The condition of the policy that does not hold. */
  readonly condition: string | undefined
  /** Requests that the caller has left on a route with a rate limit; undefined on others. */
  readonly rateLimitRemaining: number | undefined
  /** Of a WebSocket, when it is over. Bytes are those of frames. */
  readonly session:
    | { readonly code: number; readonly fromClient: number; readonly fromUpstream: number }
    | undefined
  /** Why there was no answer, or no whole one. */
  readonly errorType: string | undefined
  /** The code of the failure that is the reason: of the issuer, or of the connection to the upstream. */
  readonly errorCode: string | undefined
}

/** Where lines go, and how they show people. `service` is every line's `service`. */
export type AccessLogOptions = {
  /** Takes whole lines, each with its line break. */
  readonly write: (lines: string) => void
  readonly service: string
  /** `plain` shows who called; `hashed` only that it was the same one. */
  readonly subject: 'plain' | 'hashed'
}

/** Takes what is known of requests that are over, and writes it soon after. */
export type AccessLog = {
  add(entry: AccessEntry): void
  /** Writes what is held back. */
  flush(): void
}

/** Lines wait this long for company, so that a busy gateway writes once for many. Milliseconds. */
const FLUSH_AFTER_MS = 50
/** Each write goes by way of another thread. */
const FLUSH_AT_CHARACTERS = 64 * 1024
/** Of a SHA-256 in base64url: enough to tell people apart, no more. */
const SUBJECT_HASH_CHARACTERS = 16

/** Writes one JSON line for each request, from parts that are prepared per route and per caller. */
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
    const subject =
      caller.subject === undefined || options.subject === 'plain'
        ? caller.subject
        : hash('sha256', caller.subject, 'base64url').slice(0, SUBJECT_HASH_CHARACTERS)
    const fields = field('auth.client_id', caller.clientId) + field('auth.subject', subject)
    callers.set(caller, fields)
    return fields
  }

  return {
    add(entry) {
      held += `{"level":"info","time":"${isoTime(entry.timeMs)}","service":${service},"event":"access","request_id":"${
        entry.requestId
      }"${field('http.request.method', entry.method)}${field('url.path', entry.path)}${
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
      if (entry.caller !== undefined) held += callerFields(entry.caller)
      if (entry.session !== undefined)
        held += `,"websocket.close_code":${entry.session.code},"websocket.bytes_from_client":${entry.session.fromClient},"websocket.bytes_from_upstream":${entry.session.fromUpstream}`
      if (entry.scopesMissing.length > 0)
        held += `,"auth.scopes_missing":${JSON.stringify(entry.scopesMissing)}`
      if (entry.audience !== undefined)
        held += `${field('auth.audience_expected', entry.audience.expected)},"auth.audience":${JSON.stringify(abbreviateAudience(entry.audience.actual))}`
      if (entry.condition !== undefined) held += field('auth.condition', entry.condition)
      if (entry.rateLimitRemaining !== undefined)
        held += `,"rate_limit.remaining":${entry.rateLimitRemaining}`
      if (entry.errorType !== undefined)
        held += field('error.type', entry.errorType) + field('error.code', entry.errorCode)
      held += '}\n'
      if (held.length >= FLUSH_AT_CHARACTERS) flush()
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS)
    },
    flush,
  }
}

/** The fields of a log line that a route fixes; computed once for each. */
export function accessLogFields(fields: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(fields)
    .map(([name, value]) => field(name, value))
    .join('')
}

function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`
}

/** JSON leaves the control characters above `~` as they are, and terminals obey them. */
function harmless(json: string): string {
  return CONTROL.test(json) ? json.replace(CONTROLS, toEscape) : json
}

const CONTROL = /[\x7f-\x9f]/
const CONTROLS = /[\x7f-\x9f]/g

function toEscape(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`
}

/** Microseconds are enough. */
function milliseconds(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

let lastMs = 0
let lastText = ''

/** Requests of one millisecond share the text of it. */
function isoTime(timeMs: number): string {
  if (timeMs !== lastMs) {
    lastMs = timeMs
    lastText = new Date(timeMs).toISOString()
  }
  return lastText
}
