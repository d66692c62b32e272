import { Counter, type CounterConfiguration } from 'prom-client'

export type CounterChild = { inc(): void }

/** A metric that tells which of its series increased since the last call. Only the console calls this function. */
export type Sampled = {
  takeIncreases(visit: (labels: Readonly<Record<string, string>>, increase: number) => void): void
}

/**
 * A counter that keeps its series as plain numbers between scrapes. The registry would look up a series by its labels
 * on every increment. This counter does one lookup per series on each scrape.
 */
export class BufferedCounter<T extends string> {
  readonly #children = new Map<
    string,
    { readonly labels: Record<T, string>; readonly child: CounterBuffer }
  >()
  readonly #counter: Counter<T>

  constructor(config: CounterConfiguration<T>) {
    const children = this.#children
    this.#counter = new Counter({
      ...config,
      collect() {
        for (const { labels, child } of children.values()) {
          if (child.count > 0) this.inc(labels, child.count)
          child.collected += child.count
          child.count = 0
        }
      },
    })
    // The registry returns the counter and not this object.
    const sampled: Sampled = {
      takeIncreases(visit) {
        for (const { labels, child } of children.values()) {
          const increase = child.collected + child.count - child.sampled
          if (increase === 0) continue
          child.sampled += increase
          visit(labels, increase)
        }
      },
    }
    Object.assign(this.#counter, sampled)
  }

  /**
   * Returns the series with these labels. Call this method once per series. The series appears after its first
   * increment.
   */
  child(labels: Record<T, string>): CounterChild {
    const key = JSON.stringify(labels)
    const child = this.#children.get(key)?.child ?? new CounterBuffer()
    this.#children.set(key, { labels, child })
    return child
  }

  /** Removes the matching series. Later increments of a removed series are lost. */
  remove(matches: (labels: Readonly<Record<T, string>>) => boolean): void {
    for (const [key, { labels }] of this.#children) {
      if (!matches(labels)) continue
      this.#children.delete(key)
      this.#counter.remove(labels)
    }
  }
}

class CounterBuffer implements CounterChild {
  /** Increments since the last scrape. */
  count = 0
  /** Increments until the last scrape. */
  collected = 0
  /** Increments until the last call of `takeIncreases()`. */
  sampled = 0

  inc(): void {
    this.count += 1
  }
}
