// Loads modules of OpenTelemetry. Only `open-tracing.ts` imports this module, and only if tracing is configured.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomFillSync } from 'node:crypto'
import { createTraceState, SpanKind } from '@opentelemetry/api'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import type { Logger } from '../logging/logger.ts'
import { createSpanEncoder } from './encode-spans.ts'
import { RecordedSpan, type SpanParent, UnrecordedSpan } from './recorded-span.ts'
import { createSampler } from './sampler.ts'
import { createSpanExporter } from './span-exporter.ts'
import { SpanQueue } from './span-queue.ts'
import { traceStores } from './store-spans.ts'
import { parseTraceparent } from './traceparent.ts'
import { failSpan, type Span, type SpanAttributes, type TraceContext, type Tracing } from './tracing.ts'
import type { TracingMeter } from './tracing-metrics.ts'
import type { TracingSettings, TracingTls } from './tracing-settings.ts'

/** Starts tracing. The spans of a process go to one receiver. */
export function startTracing(options: {
  readonly settings: TracingSettings
  readonly tls: TracingTls
  readonly serviceName: string
  readonly version: string
  readonly meter: TracingMeter
  readonly logger: Pick<Logger, 'info' | 'warn'>
}): Tracing {
  const { settings, tls, logger, meter } = options
  const exporter = createSpanExporter(settings, { tls, userAgent: `scopegate/${options.version}` })
  const resource = resourceFromAttributes({
    'service.name': options.serviceName,
    'service.version': options.version,
    'process.pid': process.pid,
  }).merge(detectResources({ detectors: [envDetector] }))
  const queue = new SpanQueue({
    encoder: createSpanEncoder({ resource, scope: { name: 'scopegate', version: options.version } }),
    exporter,
    meter,
    logger,
    endpoint: new URL(settings.url).origin,
  })
  const owner = { onEnd: (span: RecordedSpan) => queue.add(span) }
  const sample = createSampler(settings)
  const nextIds = createIdSource()
  const storage = new AsyncLocalStorage<Span>()

  function current(): Span | undefined {
    const span = storage.getStore()
    // A connection or a timer keeps the context of the request that created it, also after the end of the span.
    return span?.isRecording() === true ? span : undefined
  }

  function startClientSpan(name: string, parent: Span, attributes: SpanAttributes): Span {
    const { traceId, traceState, spanId } = parent
    const context = { traceId, traceState, spanId: nextIds().spanId }
    const parentSpan = { spanId, isRemote: false }
    return new RecordedSpan(owner, context, { name, kind: SpanKind.CLIENT, parent: parentSpan, attributes })
  }

  const stopTracingStores = traceStores({ current, startClientSpan })

  return {
    startServerSpan(name, headers) {
      const parent = headers === undefined ? undefined : remoteContext(headers)
      const ids = nextIds()
      const traceId = parent?.traceId ?? ids.traceId
      const context = { traceId, spanId: ids.spanId, traceState: parent?.traceState ?? '' }
      return sample(traceId, parent?.isSampled)
        ? new RecordedSpan(owner, context, { name, kind: SpanKind.SERVER, parent })
        : new UnrecordedSpan(context)
    },
    startClientSpan,
    run: (span, call) => storage.run(span, call),
    current,
    async observe(name, attributes, call) {
      const parent = current()
      if (parent === undefined) return call()
      const span = startClientSpan(name, parent, attributes)
      try {
        return await storage.run(span, call)
      } catch (error) {
        failSpan(span, error)
        throw error
      } finally {
        span.end()
      }
    },
    async close() {
      stopTracingStores()
      await queue.close()
    },
  }
}

const TRACE_ID_LENGTH = 32
const IDS_LENGTH = 48

/**
 * Returns a function that returns random IDs of a trace and of a span, in hexadecimal digits. The IDs are parts of one
 * random text, because a part costs less than a conversion for each ID.
 */
function createIdSource(): () => Pick<TraceContext, 'traceId' | 'spanId'> {
  const pool = Buffer.allocUnsafe(8_184)
  let text = ''
  let at = 0
  return () => {
    if (at === text.length) {
      text = randomFillSync(pool).toString('hex')
      at = 0
    }
    const traceId = text.slice(at, at + TRACE_ID_LENGTH)
    const spanId = text.slice(at + TRACE_ID_LENGTH, at + IDS_LENGTH)
    at += IDS_LENGTH
    return { traceId, spanId }
  }
}

/** Returns the context of the sender. Returns undefined for an invalid `traceparent`, which starts a new trace. */
function remoteContext(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): (TraceContext & SpanParent) | undefined {
  const parent = parseTraceparent(headers['traceparent'])
  if (parent === undefined) return undefined
  const { tracestate } = headers
  const traceState = typeof tracestate === 'string' ? createTraceState(tracestate).serialize() : ''
  return { ...parent, traceState, isRemote: true }
}
