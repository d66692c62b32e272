import { describeFailure, type Logger } from '../logging/logger.ts'
import type { SpanEncoder } from './encode-spans.ts'
import type { RecordedSpan } from './recorded-span.ts'
import type { TracingMeter } from './tracing-metrics.ts'

/** Ended spans that wait for their export. Each encoded span takes about 400 bytes. */
const MAX_QUEUED = 4_096
/** Spans per export. An export costs about 1 ms of CPU time. */
const MAX_BATCH = 1_024
/**
 * Spans that wait for the encoder. The encoder needs a third of the time if it encodes several spans in one loop. More
 * waiting objects would outlive the short garbage collections, which then copy the objects.
 */
const MAX_UNENCODED = 32
const EXPORT_EVERY_MS = 1_000
/** Longest time that a shutdown waits for the export of the queue. */
const CLOSE_TIMEOUT_MS = 2_000

/** Encoded spans of one export. */
export type SpanBatch = { readonly spans: number; readonly request: Buffer }

export type SpanExporter = {
  /**
   * Sends the spans to the receiver.
   * @returns the number of spans that the receiver rejected (`partial_success` of OTLP).
   */
  export(batch: SpanBatch): Promise<number>
  /** Closes the connection, and ends an export with an error. */
  close(): Promise<void>
}

type SpanQueueOptions = {
  readonly encoder: SpanEncoder
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
  /** Complete batches. */
  #batches: SpanBatch[] = []
  /** Spans of the next batch that the encoder already has. */
  #encoded = 0
  #unencoded: RecordedSpan[] = []
  /** All spans above. */
  #queued = 0
  #timer: NodeJS.Timeout | undefined
  #exporting: Promise<void> | undefined
  #hasFailed = false
  #isClosed = false

  constructor(options: SpanQueueOptions) {
    this.#options = options
  }

  add(span: RecordedSpan): void {
    if (this.#isClosed || this.#queued >= MAX_QUEUED) {
      this.#options.meter.dropped('queue_full', 1)
      return
    }
    this.#unencoded.push(span)
    this.#queued += 1
    if (this.#unencoded.length >= MAX_UNENCODED) this.#encode()
    if (this.#encoded >= MAX_BATCH) {
      this.#completeBatch()
      this.#start()
    } else this.#timer ??= setTimeout(() => this.#start(), EXPORT_EVERY_MS).unref()
  }

  #encode(): void {
    for (const span of this.#unencoded) this.#options.encoder.add(span)
    this.#encoded += this.#unencoded.length
    this.#unencoded = []
  }

  #completeBatch(): void {
    this.#encode()
    if (this.#encoded === 0) return
    this.#batches.push({ spans: this.#encoded, request: this.#options.encoder.take() })
    this.#encoded = 0
  }

  async #flush(): Promise<void> {
    while (!this.#isClosed && (this.#queued > 0 || this.#exporting !== undefined)) {
      this.#start()
      await this.#exporting
    }
  }

  /** Exports the queue for at most `CLOSE_TIMEOUT_MS`, and drops the rest. Then closes the exporter. */
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
    this.#options.meter.dropped('export_failed', this.#queued)
    this.#batches = []
    await this.#options.exporter.close()
    await this.#exporting // counts the spans of an unfinished export
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#exporting !== undefined) return
    if (this.#batches.length === 0) this.#completeBatch()
    const batch = this.#batches.shift()
    if (batch === undefined) return
    this.#queued -= batch.spans
    this.#exporting = this.#export(batch).then(() => {
      this.#exporting = undefined
      if (this.#isClosed) return
      if (this.#batches.length > 0) this.#start()
      else if (this.#queued > 0) this.#timer ??= setTimeout(() => this.#start(), EXPORT_EVERY_MS).unref()
    })
  }

  async #export(batch: SpanBatch): Promise<void> {
    const { exporter, meter } = this.#options
    let rejected: number
    try {
      rejected = Math.min(await exporter.export(batch), batch.spans)
    } catch (error) {
      meter.dropped('export_failed', batch.spans)
      this.#failed(error)
      return
    }
    meter.exported(batch.spans - rejected)
    meter.dropped('export_failed', rejected)
    if (rejected === 0) this.#recovered()
    else this.#failed(new Error(`The receiver rejected ${rejected} of ${batch.spans} spans.`))
  }

  #failed(error: unknown): void {
    if (this.#hasFailed || this.#isClosed) return
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
