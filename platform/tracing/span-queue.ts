import { describeFailure, type Logger } from '../logging/logger.ts'
import type { RecordedSpan } from './recorded-span.ts'
import type { TracingMeter } from './tracing-metrics.ts'

/** Ended spans that wait for their export. Each span takes about 2 KB. */
const MAX_QUEUED = 2_048
/** Spans per export. The serialization of a batch blocks the event loop for about one millisecond. */
const MAX_BATCH = 256
const EXPORT_EVERY_MS = 1_000
/** Longest time that a shutdown waits for the export of the queue. */
const CLOSE_TIMEOUT_MS = 2_000

/** The form of the exporters of OpenTelemetry. */
export type SpanExporter = {
  export(spans: RecordedSpan[], done: (result: ExportResult) => void): void
}
type ExportResult = {
  readonly code: number
  readonly error?: Error
  /** Spans of an export without an error that the receiver rejected (`partial_success` of OTLP). */
  readonly rejected?: number
}

type SpanQueueOptions = {
  readonly exporter: SpanExporter
  readonly meter: TracingMeter
  readonly logger: Pick<Logger, 'info' | 'warn'>
  /** Address of the receiver, for the log. */
  readonly endpoint: string
}

/**
 * Queues ended spans and exports one batch at a time. A full queue drops new spans. Logs one line when exports begin to
 * fail, and one line when they work again.
 */
export class SpanQueue {
  readonly #options: SpanQueueOptions
  #queue: RecordedSpan[] = []
  #timer: NodeJS.Timeout | undefined
  #exporting: Promise<void> | undefined
  #hasFailed = false
  #isClosed = false

  constructor(options: SpanQueueOptions) {
    this.#options = options
  }

  add(span: RecordedSpan): void {
    if (this.#isClosed || this.#queue.length >= MAX_QUEUED) {
      this.#options.meter.dropped('queue_full', 1)
      return
    }
    this.#queue.push(span)
    if (this.#queue.length >= MAX_BATCH) this.#start()
    else this.#timer ??= setTimeout(() => this.#start(), EXPORT_EVERY_MS).unref()
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0 || this.#exporting !== undefined) {
      this.#start()
      await this.#exporting
    }
  }

  /** Exports the queue for at most `CLOSE_TIMEOUT_MS`, and drops the rest. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    let deadline: NodeJS.Timeout | undefined
    await Promise.race([
      this.#flush(),
      new Promise((resolve) => {
        deadline = setTimeout(resolve, CLOSE_TIMEOUT_MS)
      }),
    ])
    clearTimeout(deadline)
    clearTimeout(this.#timer)
    this.#isClosed = true
    this.#options.meter.dropped('export_failed', this.#queue.length)
    this.#queue = []
  }

  #start(): void {
    if (this.#exporting !== undefined || this.#queue.length === 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#queue.splice(0, MAX_BATCH)
    this.#exporting = this.#export(batch).then(() => {
      this.#exporting = undefined
      if (this.#isClosed) return
      if (this.#queue.length >= MAX_BATCH) this.#start()
      else if (this.#queue.length > 0)
        this.#timer ??= setTimeout(() => this.#start(), EXPORT_EVERY_MS).unref()
    })
  }

  async #export(batch: RecordedSpan[]): Promise<void> {
    const { exporter, meter } = this.#options
    const result = await new Promise<ExportResult>((resolve) => {
      try {
        exporter.export(batch, resolve)
      } catch (error) {
        resolve({ code: FAILED, error: error as Error })
      }
    })
    if (result.code === FAILED) {
      meter.dropped('export_failed', batch.length)
      this.#failed(result.error)
      return
    }
    const rejected = Math.min(result.rejected ?? 0, batch.length)
    meter.exported(batch.length - rejected)
    meter.dropped('export_failed', rejected)
    if (rejected === 0) this.#recovered()
    else this.#failed(new Error(`The receiver rejected ${rejected} of ${batch.length} spans.`))
  }

  #failed(error: Error | undefined): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    const { logger, endpoint } = this.#options
    logger.warn(
      { event: 'trace_export_failed', endpoint, err: describeFailure(error) },
      'cannot export spans: requests continue and spans are dropped until the receiver accepts spans; check the endpoint',
    )
  }

  #recovered(): void {
    if (!this.#hasFailed) return
    this.#hasFailed = false
    const { logger, endpoint } = this.#options
    logger.info({ event: 'trace_export_recovered', endpoint }, 'the receiver accepts spans again')
  }
}

/** `ExportResultCode.FAILED` of `@opentelemetry/core`. */
const FAILED = 1
