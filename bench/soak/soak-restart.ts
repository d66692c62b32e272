import type { Cleanup } from '../cleanup.ts'
import { type LoadCounts, startKeepAliveLoad } from './keep-alive-load.ts'
import { type RollKind, rollWorkers } from './roll-workers.ts'
import { startLoadedGateway } from './start-loaded-gateway.ts'

export type RestartSoak = {
  readonly counts: LoadCounts
  /** Duration of each rolling restart. Milliseconds. */
  readonly rollsMs: readonly number[]
}

/** Number of rolling restarts, and the load during the restarts. */
export type RestartSoakOptions = {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly workers: number
  readonly rolls: readonly RollKind[]
  /** Minimum number of requests in total. The parts before, between and after the restarts are equal. */
  readonly requests: number
  readonly onRoll?: (number: number, kind: RollKind, counts: LoadCounts) => void
}

/** Restarts all workers of a gateway repeatedly while clients send requests on keep-alive connections. */
export async function soakRestart(options: RestartSoakOptions): Promise<RestartSoak> {
  const { cleanup, rolls } = options
  const gateway = await startLoadedGateway({
    ...options,
    settings: { workers: options.workers, drain: { delay: '1s' } },
  })
  const load = startKeepAliveLoad({ url: gateway.url, busy: 24, pausing: 24, fleeting: 2 })
  cleanup.add(load.stop)
  const share = Math.ceil(options.requests / (rolls.length + 1))
  const rollsMs: number[] = []
  await load.reached(share)
  for (const [at, kind] of rolls.entries()) {
    const startedMs = performance.now()
    await rollWorkers(gateway, kind)
    rollsMs.push(performance.now() - startedMs)
    options.onRoll?.(at + 1, kind, load.counts)
    await load.reached(share * (at + 2))
  }
  await load.stop()
  return { counts: load.counts, rollsMs }
}
