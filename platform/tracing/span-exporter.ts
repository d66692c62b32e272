import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { Pool } from 'undici'
import { errorCode } from '../diagnostics/error-code.ts'
import { readLimitedBytes } from '../net/read-limited.ts'
import type { SpanExporter } from './span-queue.ts'
import type { TracingSettings, TracingTls } from './tracing-settings.ts'

/** Maximum size of a response. A typical response is empty. */
const RESPONSE_LIMIT_BYTES = 64 * 1024
/**
 * Longest wait time for the body after the header section of a response. A receiver that does not end its bodies would
 * otherwise block each export until the timeout.
 */
const BODY_TIMEOUT_MS = 1_000
/** Wait time before the first repetition. Each further wait time is twice as long, up to the maximum. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 5_000
/** The receiver or a proxy can be temporarily unavailable. Source: OTLP specification 1.9, OTLP/HTTP response. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** The connection failed before the receiver responded. */
const TEMPORARY_CODES: ReadonlySet<string | undefined> = new Set([
  ...['EAI_AGAIN', 'ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EPIPE'],
  ...['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'],
])

/** A response with another status than 2xx. The message has no reason phrase, which could repeat a request header. */
class StatusError extends Error {
  readonly status: number
  /** The wait time that the receiver requires. Milliseconds. */
  readonly retryAfterMs: number

  constructor(status: number, retryAfter: string) {
    super(`The receiver responded with the status ${status}.`)
    this.status = status
    this.retryAfterMs = retryAfterMs(retryAfter)
  }
}

/**
 * Creates the exporter of encoded spans to an OTLP receiver over HTTP.
 *
 * The exporter does not use `node:http`: V8 optimizes the functions of `node:http` for the requests of clients, and the
 * responses of a receiver would pass through some of the same functions.
 */
export function createSpanExporter(
  settings: Pick<TracingSettings, 'url' | 'headers' | 'timeoutMs' | 'isCompressed'>,
  { tls, userAgent }: { readonly tls: TracingTls; readonly userAgent: string },
): SpanExporter {
  const { timeoutMs, isCompressed } = settings
  const url = new URL(settings.url)
  const headers = {
    'user-agent': userAgent,
    ...authorization(url),
    ...settings.headers,
    'content-type': 'application/x-protobuf',
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  }
  const pool = new Pool(url.origin, {
    connections: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { ...tls },
  })
  let exporting = new AbortController()

  async function send(body: Buffer, signal: AbortSignal): Promise<number> {
    const response = await pool.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers,
      body,
      signal,
    })
    const { statusCode } = response
    // The status is the result. A repetition because of an incomplete body would store the spans twice.
    const deadline = setTimeout(() => response.body.destroy(), BODY_TIMEOUT_MS)
    const content = await readLimitedBytes(response.body, RESPONSE_LIMIT_BYTES).catch(() => undefined)
    clearTimeout(deadline)
    if (statusCode < 200 || statusCode > 299)
      throw new StatusError(statusCode, String(response.headers['retry-after'] ?? ''))
    return rejectedSpans(content)
  }

  /** Repeats the export after a temporary failure, until the signal. Then throws the last failure. */
  async function sendUntil(signal: AbortSignal, body: Buffer): Promise<number> {
    let failure: unknown
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      try {
        return await send(body, signal)
      } catch (error) {
        if (signal.aborted) break
        if (!isTemporary(error)) throw error
        failure = error
      }
      const neededMs = failure instanceof StatusError ? Math.max(waitMs, failure.retryAfterMs) : waitMs
      await wait(Math.min(neededMs, timeoutMs), undefined, { signal }).catch(() => undefined)
    }
    throw failure ?? signal.reason
  }

  return {
    async export({ request }) {
      const body = isCompressed ? gzipSync(request) : request
      exporting = new AbortController()
      const late = new Error(`The receiver did not respond within ${timeoutMs} ms.`)
      const deadline = setTimeout(() => exporting.abort(late), timeoutMs)
      try {
        return await sendUntil(exporting.signal, body)
      } finally {
        clearTimeout(deadline)
      }
    },
    async close() {
      exporting.abort()
      await pool.destroy()
    },
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof StatusError
    ? TEMPORARY_STATUSES.has(error.status)
    : TEMPORARY_CODES.has(errorCode(error))
}

/** Source: RFC 9110, section 10.2.3. */
function retryAfterMs(value: string): number {
  const seconds = Number(value)
  return (Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1_000) || 0
}

function authorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}

function rejectedSpans(body: Uint8Array | undefined): number {
  try {
    return (
      ProtobufTraceSerializer.deserializeResponse(body ?? new Uint8Array()).partialSuccess?.rejectedSpans ?? 0
    )
  } catch {
    return 0 // The receiver accepted the spans, but its response is not protobuf.
  }
}
