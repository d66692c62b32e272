import type { MetricsJson } from '../../platform/ops/metrics-format.ts'
import { retireSeries } from '../observability/metrics.ts'
import { mergeMetrics, selectCounts } from './aggregate-workers.ts'

/** The counters and histograms of all workers that have exited. */
export type ExitedCounts = {
  readonly metrics: MetricsJson
  /** Adds the last metrics of a worker. Synchronous, so that no scrape is between the exit and the addition. */
  add(metrics: MetricsJson): void
  /**
   * Removes the series of routes and upstreams that the running workers no longer have, after the same delay as in a
   * worker. Call this function on each scrape. It reads the routes only when the policies have changed.
   */
  retire(active: {
    readonly running: readonly MetricsJson[]
    readonly hash: string | undefined
    /** Returns the active policies, in the format of `GET /policies`. */
    describe(): Promise<string | undefined> | undefined
  }): Promise<void>
}

export function createExitedCounts(retireAfterMs?: number): ExitedCounts {
  let metrics: MetricsJson = []
  let knownHash: string | undefined
  const gone = { route: new Set<string>(), upstream: new Set<string>() }
  const retireRoutes = retireSeries((name) => gone.route.add(name), retireAfterMs)
  const retireUpstreams = retireSeries((name) => gone.upstream.add(name), retireAfterMs)
  return {
    get metrics() {
      return metrics
    },
    add(last) {
      metrics = mergeMetrics([metrics, selectCounts(last)])
    },
    async retire({ running, hash, describe }) {
      retireUpstreams(upstreamsOf(running))
      const text = hash === knownHash ? undefined : await describe()
      if (text !== undefined) {
        const active = JSON.parse(text) as { readonly hash: string; readonly routes: { name: string }[] }
        knownHash = active.hash
        retireRoutes(active.routes)
      }
      for (const label of ['route', 'upstream'] as const) {
        if (gone[label].size > 0) metrics = removeSeries(metrics, label, gone[label])
        gone[label].clear()
      }
    },
  }
}

function upstreamsOf(running: readonly MetricsJson[]): readonly { readonly name: string }[] {
  const states = running.flat().filter(({ name }) => name === 'scopegate_upstream_up')
  return states.flatMap(({ values }) => values.map(({ labels }) => ({ name: String(labels['upstream']) })))
}

function removeSeries(metrics: MetricsJson, label: string, names: ReadonlySet<string>): MetricsJson {
  return metrics.map((metric) => ({
    ...metric,
    values: metric.values.filter(({ labels }) => !names.has(String(labels[label]))),
  }))
}
