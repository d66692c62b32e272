import type { Logger } from '../../platform/logging/logger.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import type { WorkerEnd, WorkerProcess } from './fork-worker.ts'
import { restartDelayMs } from './restart-delay.ts'
import type { MetricsJson } from './worker-messages.ts'

/** How many workers there are, how one is started, and who hears about them. */
export type WorkerPoolOptions = {
  readonly workers: number
  readonly fork: (
    onReplace: (worker: WorkerProcess, reason: string) => void,
    reason: StartReason,
  ) => WorkerProcess
  readonly logger: Logger
  /** A worker that does not end by itself after it was told to is killed. Milliseconds. */
  readonly graceMs: number
  readonly onStarted: (reason: StartReason) => void
  /** What a worker that is gone has counted. */
  readonly onGone: (metrics: MetricsJson) => void
}

/**
 * Why a worker was started: the first one of its place, after a crash, in a rolling restart, or because its
 * predecessor asked.
 */
export type StartReason = 'start' | 'crash' | 'roll' | 'replace'

/** A worker that serves so long is sound: if it crashes after that, it is started again at once. Milliseconds. */
const SOUND_AFTER_MS = 2_000
/** From so many crashes in a row on, a worker that comes up again is not believed in before it has proved sound. */
const DOUBTFUL_FAILURES = 3
/** Beyond the grace, for a worker that has come to a standstill. Milliseconds. */
const KILL_AFTER_GRACE_MS = 3_000

type Slot = {
  worker: WorkerProcess | undefined
  readySinceMs: number | undefined
  failures: number
  restart: NodeJS.Timeout | undefined
}

/** Keeps a number of workers running: starts, restarts with back-off, replaces one by one, ends. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #slots: readonly Slot[]
  readonly #living = new Set<WorkerProcess>()
  #turn: Promise<void> = Promise.resolve()
  #rollWaits = false
  #stopping = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#slots = Array.from({ length: options.workers }, () => ({
      worker: undefined,
      readySinceMs: undefined,
      failures: 0,
      restart: undefined,
    }))
  }

  /**
   * Starts the first worker, and when it serves the others.
   * @returns the public address; or how the first worker ended, which has told why itself.
   */
  async start(): Promise<string | WorkerEnd> {
    const [first, ...others] = this.#slots
    if (first === undefined) throw new Error('there is to be one worker at least')
    const worker = this.#fork('start')
    first.worker = worker
    const url = await worker.ready
    if (url === undefined) return worker.ended
    this.#adopt(first, worker)
    await Promise.all(
      others.map(async (slot) => {
        slot.worker = this.#fork('start')
        await slot.worker.ready
        this.#adopt(slot, slot.worker)
      }),
    )
    return url
  }

  /** All that run, those that are about to end included. */
  get living(): ReadonlySet<WorkerProcess> {
    return this.#living
  }

  /** Those that take requests and can be believed in. */
  get serving(): readonly WorkerProcess[] {
    const nowMs = performance.now()
    return this.#slots.flatMap(({ worker, readySinceMs, failures }) => {
      if (worker === undefined || readySinceMs === undefined) return []
      const isSound = failures < DOUBTFUL_FAILURES || nowMs - readySinceMs >= SOUND_AFTER_MS
      return isSound ? [worker] : []
    })
  }

  /** Replaces every worker, one after the other; each is told to end when its successor serves. */
  roll(): Promise<void> {
    if (this.#rollWaits) return this.#turn
    this.#rollWaits = true
    return this.#runExclusively(async () => {
      this.#rollWaits = false
      for (const slot of this.#slots) if (!(await this.#replace(slot, 'roll'))) return
      this.#options.logger.info({ event: 'workers_replaced' }, 'every worker was replaced')
    })
  }

  /** Ends every worker. */
  async stop(how: ShutdownOptions['how']): Promise<void> {
    this.#stopping = true
    for (const slot of this.#slots) clearTimeout(slot.restart)
    await Promise.all([...this.#living].map((worker) => this.#end(worker, how)))
  }

  /** One replacement at a time. */
  #runExclusively(work: () => Promise<unknown>): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      if (!this.#stopping) await work()
    })
    return this.#turn
  }

  async #replace(slot: Slot, reason: StartReason): Promise<boolean> {
    if (this.#stopping) return false
    const successor = this.#fork(reason)
    const url = await successor.ready
    if (this.#stopping) return false
    if (url === undefined) {
      this.#options.logger.error(
        { event: 'worker_not_replaced', pid: slot.worker?.pid },
        'a new worker does not start, so the old ones stay; its message is above',
      )
      return false
    }
    const old = slot.worker
    clearTimeout(slot.restart)
    slot.failures = 0
    slot.worker = successor
    this.#adopt(slot, successor)
    if (old !== undefined) await this.#end(old, 'retiring')
    return true
  }

  /** From now on this worker is the slot's, and its end is a crash. */
  #adopt(slot: Slot, worker: WorkerProcess): void {
    slot.readySinceMs = performance.now()
    worker.ended.then((end) => {
      if (slot.worker === worker) this.#crashed(slot, end)
    })
  }

  #crashed(slot: Slot, end: WorkerEnd): void {
    const livedMs = slot.readySinceMs === undefined ? 0 : performance.now() - slot.readySinceMs
    const pid = slot.worker?.pid
    slot.worker = undefined
    slot.readySinceMs = undefined
    if (this.#stopping) return
    if (livedMs >= SOUND_AFTER_MS) slot.failures = 0
    const delayMs = restartDelayMs(slot.failures)
    slot.failures += 1
    this.#options.logger.error(
      { event: 'worker_crashed', pid, exit_code: end.code, signal: end.signal, restart_ms: delayMs },
      'a worker ended by itself',
    )
    slot.restart = setTimeout(() => this.#restart(slot), delayMs)
  }

  async #restart(slot: Slot): Promise<void> {
    if (this.#stopping || slot.worker !== undefined) return
    const worker = this.#fork('crash')
    slot.worker = worker
    if ((await worker.ready) !== undefined) this.#adopt(slot, worker)
    else if (slot.worker === worker) this.#crashed(slot, await worker.ended)
  }

  #fork(reason: StartReason): WorkerProcess {
    const { fork, logger, onStarted, onGone } = this.#options
    const worker = fork((asking, why) => {
      logger.warn({ event: 'worker_leaves', pid: asking.pid, reason: why }, 'a worker asks to be replaced')
      const slot = this.#slots.find((one) => one.worker === asking)
      if (slot !== undefined)
        this.#runExclusively(async () => slot.worker === asking && this.#replace(slot, 'replace'))
    }, reason)
    this.#living.add(worker)
    onStarted(reason)
    worker.ended.then(() => {
      this.#living.delete(worker)
      onGone(worker.lastMetrics)
    })
    return worker
  }

  async #end(worker: WorkerProcess, how: ShutdownOptions['how']): Promise<void> {
    worker.send({ kind: 'stop', how })
    const late = setTimeout(() => worker.kill(), this.#options.graceMs + KILL_AFTER_GRACE_MS)
    await worker.ended
    clearTimeout(late)
  }
}
