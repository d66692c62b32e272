import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { closeLostConnections } from './close-lost-connections.ts'
import type { FromWorker, MetricsJson, ToWorker, WorkerState } from './worker-messages.ts'

/** A worker as its supervisor sees it. */
export type WorkerProcess = {
  readonly pid: number | undefined
  /** Resolves with the public address, or with undefined when it ended before it served. */
  readonly ready: Promise<string | undefined>
  readonly ended: Promise<WorkerEnd>
  /** What it last said about its metrics; they go on counting when it is gone. */
  readonly lastMetrics: MetricsJson
  /** Asks about readiness and metrics; undefined when there is no answer in time. */
  ask(): Promise<WorkerState | undefined>
  send(message: ToWorker): void
  kill(): void
}

/** How a worker ended: its exit code, or the signal that killed it. */
export type WorkerEnd = { readonly code: number | undefined; readonly signal: string | undefined }

const ANSWER_WITHIN_MS = 1_000

/** Starts a worker: this program again, in a process that shares the listening port `port`, and signs with the same key as the others. */
export function forkWorker(
  port: number,
  assertionKey: string | undefined,
  onReplace: (worker: WorkerProcess, reason: string) => void,
): WorkerProcess {
  // In a checkout the sources run as they are; in the installed package they were compiled.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ exec: fileURLToPath(new URL(`../main.${ending}`, import.meta.url)), args: [] })
  const forked = cluster.fork({ SCOPEGATE_LISTEN__PORT: port })
  closeLostConnections(forked.process)
  const begin: ToWorker = { kind: 'begin', assertionKey }
  forked.send(begin, () => undefined)
  const waiting = new Map<number, (state: WorkerState | undefined) => void>()
  let questions = 0
  let lastMetrics: MetricsJson = []

  const ended = new Promise<WorkerEnd>((resolve) => {
    forked.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }))
    forked.on('error', () => undefined) // it could not be told something: its end says the rest
  })
  const ready = new Promise<string | undefined>((resolve) => {
    forked.on('message', (message: FromWorker) => {
      if (message.kind === 'ready') resolve(message.url)
    })
    ended.then(() => resolve(undefined))
  })
  const worker: WorkerProcess = {
    pid: forked.process.pid,
    ready,
    ended,
    get lastMetrics() {
      return lastMetrics
    },
    ask() {
      const question = ++questions
      return new Promise((resolve) => {
        const answer = (state: WorkerState | undefined): void => {
          clearTimeout(timer)
          waiting.delete(question)
          resolve(state)
        }
        const timer = setTimeout(answer, ANSWER_WITHIN_MS, undefined)
        waiting.set(question, answer)
        worker.send({ kind: 'ask', question })
      })
    },
    send(message) {
      if (forked.isConnected()) forked.send(message, () => undefined)
    },
    kill: () => void forked.process.kill('SIGKILL'),
  }
  forked.on('message', (message: FromWorker) => {
    if (message.kind === 'replace') onReplace(worker, message.reason)
    if (message.kind === 'leaving') worker.send({ kind: 'leave' })
    if (message.kind === 'farewell') lastMetrics = message.metrics
    if (message.kind !== 'state') return
    lastMetrics = message.state.metrics
    waiting.get(message.question)?.(message.state)
  })
  return worker
}
