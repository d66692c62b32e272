import { isDeepStrictEqual } from 'node:util'
import type { Upstream, UpstreamSettings } from './upstream.ts'

/**
 * Delay before the connections of a removed upstream are closed. Requests that have matched a route of the previous
 * policies can begin during this time. Milliseconds.
 */
const RETIRE_AFTER_MS = 60_000

/** The upstreams of the operator, and the upstreams that policy sources define. */
export type UpstreamRegistry = {
  /** All active upstreams. */
  readonly active: readonly Upstream[]
  /**
   * Returns the upstreams for new policies, by name. An upstream with unchanged settings keeps its connections and its
   * circuits.
   */
  prepare(ofSources: readonly UpstreamSettings[]): ReadonlyMap<string, Upstream>
  /**
   * Activates the upstreams of new policies. Removed upstreams finish their requests.
   * @returns whether the upstreams changed.
   */
  activate(ofSources: readonly UpstreamSettings[]): boolean
  close(): Promise<void>
}

type Entry = { readonly settings: UpstreamSettings; readonly upstream: Upstream }

export function createUpstreamRegistry(
  ofOperator: readonly UpstreamSettings[],
  create: (settings: UpstreamSettings) => Upstream,
): UpstreamRegistry {
  const own = ofOperator.map((settings): [string, Upstream] => [settings.name, create(settings)])
  let entries: readonly Entry[] = []
  let active: readonly Upstream[] = own.map(([, upstream]) => upstream)
  const retiring = new Map<Upstream, NodeJS.Timeout>()

  function find(settings: UpstreamSettings): Entry | undefined {
    return entries.find((one) => isDeepStrictEqual(one.settings, settings))
  }

  function retire(upstream: Upstream): void {
    const timer = setTimeout(() => {
      retiring.delete(upstream)
      void upstream.retire()
    }, RETIRE_AFTER_MS).unref()
    retiring.set(upstream, timer)
  }

  return {
    get active() {
      return active
    },
    prepare(ofSources) {
      for (const settings of ofSources)
        if (find(settings) === undefined) entries = [...entries, { settings, upstream: create(settings) }]
      const prepared = ofSources.flatMap((settings): [string, Upstream][] => {
        const entry = find(settings)
        return entry === undefined ? [] : [[settings.name, entry.upstream]]
      })
      return new Map([...own, ...prepared])
    },
    activate(ofSources) {
      const kept = entries.filter(({ settings }) => ofSources.some((one) => isDeepStrictEqual(one, settings)))
      for (const entry of entries) if (!kept.includes(entry)) retire(entry.upstream)
      entries = kept
      const before = active
      active = [...own.map(([, upstream]) => upstream), ...kept.map(({ upstream }) => upstream)]
      return active.length !== before.length || active.some((upstream) => !before.includes(upstream))
    },
    async close() {
      for (const timer of retiring.values()) clearTimeout(timer)
      const all = [
        ...own.map(([, one]) => one),
        ...entries.map(({ upstream }) => upstream),
        ...retiring.keys(),
      ]
      await Promise.all(all.map((upstream) => upstream.close()))
    },
  }
}
