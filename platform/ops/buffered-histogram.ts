import type { Metric, Registry } from 'prom-client'
import type { Exemplar, MetricSample } from './metrics-format.ts'

export type HistogramChild = {
  /** @param traceId trace of the observed request, if the trace is sampled. */
  observe(value: number, traceId?: string): void
}

export type BufferedHistogramConfig = {
  readonly name: string
  readonly help: string
  /** Upper bounds in ascending order, without the infinite bound. */
  readonly buckets: readonly number[]
  readonly registers: readonly Registry[]
}

export type HistogramCounts = {
  readonly buckets: readonly number[]
  readonly sum: number
  readonly count: number
}

type Labels = Readonly<Record<string, string>>

/**
 * A histogram that keeps its series as plain numbers. An observation changes three numbers. Each scrape assembles the
 * values. A prom-client registry needs only two members of a metric: the name and `get()`.
 */
export class BufferedHistogram<T extends string> {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly aggregator = 'sum'
  readonly #bounds: readonly number[]
  readonly #children = new Map<string, { readonly labels: Labels; readonly child: HistogramBuffer }>()

  constructor(config: BufferedHistogramConfig) {
    this.name = config.name
    this.help = config.help
    this.#bounds = config.buckets
    for (const registry of config.registers) registry.registerMetric(this as unknown as Metric)
  }

  /**
   * Returns the series with these labels. Call this method once per series. The series appears after its first
   * observation.
   */
  child(labels: Readonly<Record<T, string>>): HistogramChild {
    const key = JSON.stringify(labels)
    const child = this.#children.get(key)?.child ?? new HistogramBuffer(this.#bounds)
    this.#children.set(key, { labels, child })
    return child
  }

  /** Removes the matching series. Later observations of a removed series are lost. */
  remove(matches: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.#children) if (matches(labels)) this.#children.delete(key)
  }

  /**
   * Calls `visit` for each series with observations since the last call. Only the console calls this function.
   * @param visit gets the increases. `buckets` is not cumulative and lacks the bucket above the last bound.
   */
  takeIncreases(visit: (labels: Labels, increase: HistogramCounts) => void): void {
    for (const { labels, child } of this.#children.values()) {
      const { count, sum, buckets, sampled } = child
      if (count === sampled.count) continue
      child.sampled = { count, sum, buckets: [...buckets] }
      visit(labels, {
        count: count - sampled.count,
        sum: sum - sampled.sum,
        buckets: buckets.map((inBucket, index) => inBucket - (sampled.buckets[index] ?? 0)),
      })
    }
  }

  /**
   * Returns the values for the registry. Buckets are cumulative. Source: Prometheus text exposition format 0.0.4,
   * histograms.
   */
  get(): Promise<{ name: string; help: string; type: string; aggregator: string; values: MetricSample[] }> {
    const { name, help, type, aggregator } = this
    const seen = [...this.#children.values()].filter(({ child }) => child.count > 0)
    const values = seen.flatMap(({ labels, child }) => this.#values(labels, child))
    return Promise.resolve({ name, help, type, aggregator, values })
  }

  #values(labels: Labels, { buckets, sum, count, exemplars }: HistogramBuffer): MetricSample[] {
    let below = 0
    const metricName = `${this.name}_bucket`
    const cumulative = this.#bounds.map((bound, index): MetricSample => {
      below += buckets[index] ?? 0
      return { metricName, labels: { le: bound, ...labels }, value: below, exemplar: exemplars[index] }
    })
    return [
      ...cumulative,
      {
        metricName,
        labels: { le: '+Inf', ...labels },
        value: count,
        exemplar: exemplars[this.#bounds.length],
      },
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ]
  }
}

const NO_COUNTS: HistogramCounts = { buckets: [], sum: 0, count: 0 }

class HistogramBuffer implements HistogramChild {
  readonly #bounds: readonly number[]
  /** Observations per bucket, not cumulative. Observations above the last bound are only in `count`. */
  readonly buckets: number[]
  sum = 0
  count = 0
  /** The counts at the last call of `takeIncreases()`. */
  sampled: HistogramCounts = NO_COUNTS
  /** The latest exemplar per bucket; the last index is the bucket above the last bound. */
  readonly exemplars: (Exemplar | undefined)[] = []

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.buckets = bounds.map(() => 0)
  }

  observe(value: number, traceId?: string): void {
    this.sum += value
    this.count += 1
    const bounds = this.#bounds
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index += 1
    if (index < bounds.length) (this.buckets[index] as number) += 1
    if (traceId !== undefined)
      this.exemplars[index] = { labelSet: { trace_id: traceId }, value, timestamp: Date.now() / 1_000 }
  }
}
