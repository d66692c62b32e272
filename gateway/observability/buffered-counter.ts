import { Counter, type CounterConfiguration } from 'prom-client'

export type CounterChild = { inc(): void }

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
          child.count = 0
        }
      },
    })
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
  count = 0

  inc(): void {
    this.count += 1
  }
}
