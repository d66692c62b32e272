import { isDeepStrictEqual } from 'node:util'
import type { Upstream, UpstreamSettings } from './upstream.ts'

/**
 * The registry closes the connections of a removed upstream after this delay. Requests that have matched a route of the
 * previous policies can begin during this time. Milliseconds.
 */
const RETIRE_AFTER_MS = 60_000

/** The upstreams of the operator, and the upstreams that policy sources define. */
export type UpstreamRegistry = {
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
  // One name has two entries while a changed upstream is prepared.
  let entries: ReadonlyMap<string, readonly Entry[]> = new Map()
  let active: readonly Upstream[] = own.map(([, upstream]) => upstream)
  const retiring = new Map<Upstream, NodeJS.Timeout>()

  function find(settings: UpstreamSettings): Entry | undefined {
    return entries.get(settings.name)?.find((one) => isDeepStrictEqual(one.settings, settings))
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
      const added = ofSources.filter((settings) => find(settings) === undefined)
      entries = groupByName([
        ...allOf(entries),
        ...added.map((settings) => ({ settings, upstream: create(settings) })),
      ])
      const prepared = ofSources.flatMap((settings): [string, Upstream][] => {
        const entry = find(settings)
        return entry === undefined ? [] : [[settings.name, entry.upstream]]
      })
      return new Map([...own, ...prepared])
    },
    activate(ofSources) {
      const kept = new Set(ofSources.flatMap((settings) => find(settings) ?? []))
      for (const entry of allOf(entries)) if (!kept.has(entry)) retire(entry.upstream)
      entries = groupByName([...kept])
      const before = new Set(active)
      active = [...own.map(([, upstream]) => upstream), ...[...kept].map(({ upstream }) => upstream)]
      return active.length !== before.size || active.some((upstream) => !before.has(upstream))
    },
    async close() {
      for (const timer of retiring.values()) clearTimeout(timer)
      const all = [
        ...own.map(([, one]) => one),
        ...allOf(entries).map(({ upstream }) => upstream),
        ...retiring.keys(),
      ]
      await Promise.all(all.map((upstream) => upstream.close()))
    },
  }
}

function groupByName(entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> {
  return Map.groupBy(entries, ({ settings }) => settings.name)
}

function allOf(entries: ReadonlyMap<string, readonly Entry[]>): readonly Entry[] {
  return [...entries.values()].flat()
}
