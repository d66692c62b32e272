import type { ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LogLevel } from '../../platform/logging/log-schema.ts'
import type { MetricsJson } from '../../platform/ops/metrics-format.ts'
import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { Sample } from '../console/sample.ts'
import type { ConsoleQuery, ConsoleReply } from '../console/worker-console.ts'
import type { GatewayCheck } from '../observability/readiness-check.ts'
import type { ApplyOutcome } from '../snapshot/reload/policy-holder.ts'
import type { SupervisorMessage, WorkerInit, WorkerMessage, WorkerPolicies } from './worker-messages.ts'

export type WorkerProcess = {
  readonly pid: number | undefined
  /** Resolves with the public address, or with undefined when the worker exits before it serves requests. */
  readonly ready: Promise<string | undefined>
  readonly ended: Promise<WorkerEnd>
  /** The last reported metrics. These metrics remain part of the totals after the worker has exited. */
  readonly lastMetrics: MetricsJson
  /** The last reported policies; undefined before the worker is ready. */
  readonly policies: WorkerPolicies | undefined
  /** Returns undefined if the worker does not reply in time. */
  requestChecks(): Promise<readonly GatewayCheck[] | undefined>
  /**
   * Resolves when `lastMetrics` is new, or when the worker does not reply in time. Only a scrape calls this function,
   * because some gauges describe the time since the last call.
   */
  requestMetrics(): Promise<unknown>
  /** Returns the changes since the last sample; undefined if the worker does not reply in time. */
  requestSample(): Promise<Sample | undefined>
  /** Returns undefined if the worker does not reply in time. */
  askConsole(query: ConsoleQuery): Promise<ConsoleReply | undefined>
  /** Returns `defect` if the worker cannot check the policies because of a defect. Has no time limit. */
  apply(sources: PolicySources): Promise<ApplyOutcome | 'exited' | 'defect'>
  /**
   * Requests a message of the worker.
   * @returns the number of probes since the last message of the worker, including this one.
   */
  probe(): number
  /**
   * Returns the worker's policies, in the format of `GET /policies`; undefined if the worker does not reply in time.
   */
  describe(): Promise<string | undefined>
  /**
   * Resolves when the worker uses the level, or does not reply in time.
   * @param level undefined: the configured level of the worker.
   */
  setLogLevel(level: LogLevel | undefined): Promise<unknown>
  send(message: SupervisorMessage): void
  kill(): void
}

export type WorkerEnd = { readonly code: number | undefined; readonly signal: string | undefined }

type WorkerReply = Extract<WorkerMessage, { readonly requestId: number }>

const REPLY_TIMEOUT_MS = 1_000
/** Request ID of a probe. The supervisor needs no content of the reply. */
const PROBE_ID = 0

/** Starts a worker: another process of this program, which shares the listening port `port`. */
export function forkWorker(
  port: number,
  initial: WorkerInit,
  onReplace: (worker: WorkerProcess, reason: string) => void,
): WorkerProcess {
  // A checkout runs the TypeScript sources; the installed package contains compiled files.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ exec: fileURLToPath(new URL(`../main.${ending}`, import.meta.url)), args: [] })
  const forked = cluster.fork({ SCOPEGATE_LISTEN__PORT: port })
  closeLostConnections(forked.process)
  const begin: SupervisorMessage = { kind: 'begin', ...initial }
  forked.send(begin, () => undefined)
  const waiting = new Map<number, (reply: WorkerReply | undefined) => void>()
  let requests = PROBE_ID
  let probes = 0
  let hasEnded = false
  let lastMetrics: MetricsJson = []
  let policies: WorkerPolicies | undefined

  const ended = new Promise<WorkerEnd>((resolve) => {
    forked.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }))
    forked.on('error', () => undefined) // ignores a failed send of a message; the exit is handled above
  })
  ended.then(() => {
    hasEnded = true
    for (const settle of waiting.values()) settle(undefined)
  })
  const ready = new Promise<string | undefined>((resolve) => {
    forked.on('message', (message: WorkerMessage) => {
      if (message.kind !== 'ready') return
      policies = message.policies
      resolve(message.url)
    })
    ended.then(() => resolve(undefined))
  })

  /** @param withinMs undefined: waits until the worker replies or exits. */
  function request<K extends WorkerReply['kind']>(
    toMessage: (requestId: number) => SupervisorMessage,
    withinMs?: number,
  ): Promise<Extract<WorkerReply, { readonly kind: K }> | undefined> {
    if (hasEnded) return Promise.resolve(undefined)
    const requestId = ++requests
    return new Promise((resolve) => {
      const settle = (given: WorkerReply | undefined): void => {
        clearTimeout(timer)
        waiting.delete(requestId)
        resolve(given as Extract<WorkerReply, { readonly kind: K }> | undefined)
      }
      const timer = withinMs === undefined ? undefined : setTimeout(settle, withinMs, undefined)
      waiting.set(requestId, settle)
      worker.send(toMessage(requestId))
    })
  }

  const worker: WorkerProcess = {
    pid: forked.process.pid,
    ready,
    ended,
    get lastMetrics() {
      return lastMetrics
    },
    get policies() {
      return policies
    },
    async requestChecks() {
      const toMessage = (requestId: number): SupervisorMessage => ({ kind: 'request_checks', requestId })
      return (await request<'checks'>(toMessage, REPLY_TIMEOUT_MS))?.checks
    },
    requestMetrics() {
      return request((requestId) => ({ kind: 'request_metrics', requestId }), REPLY_TIMEOUT_MS)
    },
    async requestSample() {
      const toMessage = (requestId: number): SupervisorMessage => ({ kind: 'request_sample', requestId })
      return (await request<'sample'>(toMessage, REPLY_TIMEOUT_MS))?.sample
    },
    async askConsole(query) {
      const toMessage = (requestId: number): SupervisorMessage => ({ kind: 'ask_console', requestId, query })
      return (await request<'console_replied'>(toMessage, REPLY_TIMEOUT_MS))?.reply
    },
    async apply(sources) {
      const toMessage = (requestId: number): SupervisorMessage => ({ kind: 'apply', requestId, sources })
      const reply = await request<'applied'>(toMessage)
      return reply === undefined ? 'exited' : (reply.outcome ?? 'defect')
    },
    probe() {
      worker.send({ kind: 'request_checks', requestId: PROBE_ID })
      probes += 1
      return probes
    },
    async describe() {
      const toMessage = (requestId: number): SupervisorMessage => ({ kind: 'describe', requestId })
      return (await request<'described'>(toMessage, REPLY_TIMEOUT_MS))?.policies
    },
    setLogLevel(level) {
      return request((requestId) => ({ kind: 'set_log_level', requestId, level }), REPLY_TIMEOUT_MS)
    },
    send(message) {
      if (forked.isConnected()) forked.send(message, () => undefined)
    },
    kill: () => void forked.process.kill('SIGKILL'),
  }
  forked.on('message', (message: WorkerMessage) => {
    probes = 0
    if (message.kind === 'replace') onReplace(worker, message.reason)
    if (message.kind === 'leaving') worker.send({ kind: 'leave' })
    if (message.kind === 'poll_listener')
      void pollListener().then(() => worker.send({ kind: 'listener_polled' }))
    if (message.kind === 'metrics' || message.kind === 'final_metrics') lastMetrics = message.metrics
    const outcome = message.kind === 'applied' ? message.outcome : undefined
    if (outcome !== undefined && outcome.result !== 'broken' && policies !== undefined)
      policies = { ...policies, hash: outcome.hash, routes: outcome.routes, states: outcome.sources }
    if ('requestId' in message) waiting.get(message.requestId)?.(message)
  })
  return worker
}

/** The first iteration of the event loop can have polled the listener before this call. */
async function pollListener(): Promise<void> {
  await nextIteration()
  await nextIteration()
}

/** Internal message of node:cluster: the transfer of a connection, or the worker's acknowledgment. */
type ClusterMessage = {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}
type Handle = { close(): void }

/**
 * Closes connections that were in transfer to a worker when the worker exited. The reason: node:cluster keeps the
 * handle of a connection open until the worker acknowledges the transfer. Without this function, the client would wait
 * forever. The messages are undocumented internals of node:cluster. If the messages change in a version of Node, this
 * function does nothing.
 */
function closeLostConnections(worker: ChildProcess): void {
  const inTransit = new Map<number, Handle>()
  const send = worker.send.bind(worker) as (...args: readonly unknown[]) => boolean
  worker.send = (...args: readonly unknown[]) => {
    const [message, handle] = args as [ClusterMessage, Handle | undefined]
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && handle && message.seq !== undefined)
      inTransit.set(message.seq, handle)
    return send(...args)
  }
  worker.on('internalMessage', (message: ClusterMessage) => {
    if (message.ack !== undefined) inTransit.delete(message.ack)
  })
  worker.once('exit', () => {
    for (const handle of inTransit.values()) handle.close()
    inTransit.clear()
  })
}
