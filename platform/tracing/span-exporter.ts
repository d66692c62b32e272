import { gzipSync } from 'node:zlib'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { Pool, RetryAgent } from 'undici'
import { readLimitedBytes } from '../net/read-limited.ts'
import type { SpanExporter } from './span-queue.ts'
import type { TracingSettings, TracingTls } from './tracing-settings.ts'

/** Maximum size of a response. A typical response is empty. */
const RESPONSE_LIMIT_BYTES = 64 * 1024
/** The receiver or a proxy can be temporarily unavailable. Source: OTLP specification 1.9, OTLP/HTTP response. */
const RETRIED_STATUSES = [429, 502, 503, 504]

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
  const client = new RetryAgent(pool, {
    methods: ['POST'],
    statusCodes: RETRIED_STATUSES,
    throwOnError: false,
    minTimeout: 1_000,
    maxTimeout: 5_000,
  })
  return {
    async export({ request }) {
      const response = await client.request({
        origin: url.origin,
        method: 'POST',
        path: url.pathname + url.search,
        headers,
        body: isCompressed ? gzipSync(request) : request,
        signal: AbortSignal.timeout(timeoutMs),
      })
      const { statusCode } = response
      const body = await readLimitedBytes(response.body, RESPONSE_LIMIT_BYTES)
      // The log must not contain the reason phrase of the receiver, which could repeat a header of the request.
      if (statusCode < 200 || statusCode > 299)
        throw new Error(`The receiver responded with the status ${statusCode}.`)
      return rejectedSpans(body)
    },
    close: () => pool.destroy(),
  }
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
