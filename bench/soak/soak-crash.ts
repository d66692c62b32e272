import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { type LoadCounts, startKeepAliveLoad } from './keep-alive-load.ts'
import { childrenOf, whenServing } from './roll-workers.ts'
import { startLoadedGateway } from './start-loaded-gateway.ts'

/** The effects of the end of one worker. */
export type Kill = {
  /**
   * Connections of the worker, and one connection that the worker has not accepted yet. Each connection has at most one
   * request in flight.
   */
  readonly connections: number
  readonly failed: number
  /** After this time, the original number of workers accepts requests again. Milliseconds. */
  readonly backMs: number
}

export type CrashSoakOptions = {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly workers: number
  readonly kills: number
  readonly pauseMs: number
  readonly onKill?: (kill: Kill) => void
}

/**
 * While clients send requests on keep-alive connections, repeatedly kills the worker with the most connections. Sends
 * SIGKILL. Works only on Linux.
 */
export async function soakCrash(
  options: CrashSoakOptions,
): Promise<{ readonly counts: LoadCounts; readonly kills: readonly Kill[] }> {
  const { workers, pauseMs } = options
  const gateway = await startLoadedGateway({ ...options, settings: { workers } })
  const { pid } = gateway.process
  const load = startKeepAliveLoad({ url: gateway.url, busy: 24, pausing: 24, fleeting: 2 })
  options.cleanup.add(load.stop)
  const connectionsOf = (worker: number): number =>
    countConnections(worker, Number(new URL(gateway.url).port))
  const kills: Kill[] = []
  await wait(pauseMs)
  while (kills.length < options.kills) {
    const [victim] = childrenOf(pid).toSorted((one, other) => connectionsOf(other) - connectionsOf(one))
    if (victim === undefined) throw new BenchError('ERR_BENCH_SUBJECT', 'no worker is running')
    const failedBefore = sum(load.counts.failed)
    process.kill(victim, 'SIGSTOP') // stops the worker, so that its connections do not change during the count
    const connections = connectionsOf(victim)
    process.kill(victim, 'SIGKILL')
    const killedMs = performance.now()
    await whenServing(gateway, { without: [victim], workers })
    const backMs = performance.now() - killedMs
    await wait(pauseMs)
    const kill = { connections: connections + 1, failed: sum(load.counts.failed) - failedBefore, backMs }
    kills.push(kill)
    options.onKill?.(kill)
  }
  await load.stop()
  return { counts: load.counts, kills }
}

function countConnections(pid: number, port: number): number {
  const folder = `/proc/${pid}/fd`
  const inodes = new Set(
    readdirSync(folder).flatMap((fd) => /^socket:\[(\d+)\]$/.exec(readLink(`${folder}/${fd}`))?.[1] ?? []),
  )
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(local) === true && inodes.has(fields[9] ?? '')).length
}

/** Returns an empty text if the descriptor is already closed. */
function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function sum(failed: ReadonlyMap<string, number>): number {
  return [...failed.values()].reduce((total, count) => total + count, 0)
}
