import { Counter, type CounterConfiguration } from 'prom-client'

/** One series of a counter. */
export type CounterChild = { inc(): void }

/**
 * A counter whose series are plain numbers while requests are served. The registry's own bookkeeping, which finds a series
 * by its labels on every increment, is done when somebody reads the metrics.
 */
export class BufferedCounter<T extends string> {
  readonly #children = new Map<string, { readonly labels: Record<T, string>; readonly child: Tally }>()
  readonly #counter: Counter<T>

  constructor(config: CounterConfiguration<T>) {
    const children = this.#children
    this.#counter = new Counter({
      ...config,
      collect() {
        for (const { labels, child } of children.values()) {
          if (child.count > 0) this.inc(labels, child.count)
          child.count = 0
        }
      },
    })
  }

  /** The one series with these labels; look it up once. It is shown from its first increment on. */
  child(labels: Record<T, string>): CounterChild {
    const key = JSON.stringify(labels)
    const child = this.#children.get(key)?.child ?? new Tally()
    this.#children.set(key, { labels, child })
    return child
  }

  /** Shows the series that are meant no longer. What somebody still counts on them is lost. */
  forget(isMeant: (labels: Readonly<Record<T, string>>) => boolean): void {
    for (const [key, { labels }] of this.#children) {
      if (!isMeant(labels)) continue
      this.#children.delete(key)
      this.#counter.remove(labels)
    }
  }
}

class Tally implements CounterChild {
  /** Since the metrics were read last. */
  count = 0

  inc(): void {
    this.count += 1
  }
}
