// Loads the OpenTelemetry SDK. Only `open-tracing.ts` imports this module, and only if tracing is configured.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomFillSync } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from '../logging/logger.ts'
import { SpanQueue } from './span-queue.ts'
import { traceStores } from './store-spans.ts'
import { parseTraceparent } from './traceparent.ts'
import { failSpan, type Tracing } from './tracing.ts'
import type { TracingMeter } from './tracing-metrics.ts'
import type { TracingSettings } from './tracing-settings.ts'

/** Starts the SDK. The spans of a process go to one receiver. */
export function startTracing(options: {
  readonly settings: TracingSettings
  readonly serviceName: string
  readonly version: string
  readonly meter: TracingMeter
  readonly logger: Pick<Logger, 'info' | 'warn'>
}): Tracing {
  const { settings, logger, meter } = options
  const { url } = settings
  const agent = url.startsWith('https:') ? new HttpsAgent(AGENT_OPTIONS) : new HttpAgent(AGENT_OPTIONS)
  const queue = new SpanQueue({
    exporter: new OTLPTraceExporter({ url, httpAgentOptions: () => agent }),
    meter,
    logger,
    endpoint: new URL(url).origin,
  })
  const sampler = createSampler(settings)
  const nextIds = createIdSource()
  let ids = nextIds()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': options.serviceName,
      'service.version': options.version,
      'process.pid': process.pid,
    }).merge(detectResources({ detectors: [envDetector] })),
    sampler,
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => nextIds().spanId },
    spanProcessors: [queue],
  })
  const tracer = provider.getTracer('scopegate', options.version)
  const storage = new AsyncLocalStorage<Span>()

  function current(): Span | undefined {
    const span = storage.getStore()
    // A connection or a timer keeps the context of the request that created it, also after the end of the span.
    return span?.isRecording() === true ? span : undefined
  }

  const startClientSpan = (name: string, parent: Span, attributes: Attributes): Span =>
    tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, trace.setSpan(ROOT_CONTEXT, parent))
  const stopTracingStores = traceStores({ current, startClientSpan })

  return {
    startServerSpan(name, headers) {
      const context = headers === undefined ? ROOT_CONTEXT : remoteContext(headers)
      if (context === ROOT_CONTEXT) {
        ids = nextIds()
        // Most traces are not recorded. For these traces, the SDK would create contexts and attributes for nothing.
        const { decision } = sampler.shouldSample(ROOT_CONTEXT, ids.traceId, name, SpanKind.SERVER, {}, [])
        if (decision === SamplingDecision.NOT_RECORD) return trace.wrapSpanContext(ids)
      }
      return tracer.startSpan(name, SERVER, context)
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
      await provider.shutdown()
      agent.destroy()
    },
  }
}

const TRACE_ID_LENGTH = 32
const IDS_LENGTH = 48
const AGENT_OPTIONS = { keepAlive: true, maxSockets: 1 }
const SERVER = { kind: SpanKind.SERVER }

function createSampler({ sampler, sampleRatio }: TracingSettings): Sampler {
  const root = sampler.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(sampleRatio)
    : sampler.endsWith('always_on')
      ? new AlwaysOnSampler()
      : new AlwaysOffSampler()
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/**
 * Returns a function that returns random IDs of a trace and of a span, in hexadecimal digits. The IDs are parts of one
 * random text, because a part costs less than a conversion for each ID.
 */
function createIdSource(): () => SpanContext {
  const pool = Buffer.allocUnsafe(2_400)
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
    return { traceId, spanId, traceFlags: TraceFlags.NONE }
  }
}

/** Returns the context of the sender. An invalid `traceparent` gives an empty context, which starts a new trace. */
function remoteContext(headers: Readonly<Record<string, string | string[] | undefined>>): Context {
  const parent = parseTraceparent(headers['traceparent'])
  if (parent === undefined) return ROOT_CONTEXT
  const { tracestate } = headers
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(typeof tracestate === 'string' ? { traceState: createTraceState(tracestate) } : {}),
  })
}
