import type { Logger } from '../../platform/logging/logger.ts'
import type { MetricsJson } from '../../platform/ops/metrics-format.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import type { WorkerEnd, WorkerProcess } from './fork-worker.ts'

type WorkerPoolOptions = {
  readonly workers: number
  readonly fork: (
    onReplace: (worker: WorkerProcess, reason: string) => void,
    reason: StartReason,
  ) => WorkerProcess
  readonly logger: Logger
  /**
   * Maximum time for a worker to stop. A worker that still runs `KILL_AFTER_GRACE_MS` after this time is killed.
   * Milliseconds.
   */
  readonly graceMs: number
  readonly onStarted: (reason: StartReason) => void
  readonly onExit: (metrics: MetricsJson) => void
}

type StartReason = 'start' | 'crash' | 'roll' | 'replace'

/**
 * A worker counts as stable after it has served requests for this time. After a crash, a stable worker is restarted
 * immediately. Milliseconds.
 */
const STABLE_AFTER_MS = 2_000
/** After this many consecutive crashes, `serving` contains a restarted worker only when the worker is stable. */
const UNSTABLE_FAILURES = 3
/** Additional time after the grace period, before a worker that does not stop is killed. Milliseconds. */
const KILL_AFTER_GRACE_MS = 3_000

type Slot = {
  worker: WorkerProcess | undefined
  readySinceMs: number | undefined
  failures: number
  restart: NodeJS.Timeout | undefined
}

/**
 * Keeps a fixed number of workers running. Restarts crashed workers with back-off, and replaces workers one at a time.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #slots: readonly Slot[]
  readonly #running = new Set<WorkerProcess>()
  readonly #draining = new Set<WorkerProcess>()
  #queue: Promise<void> = Promise.resolve()
  #rollQueued = false
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
   * Starts the first worker. Starts the other workers when the first worker serves requests.
   * @returns the public address. If the first worker fails to start, returns the exit of this worker, which has logged
   * the reason.
   */
  async start(): Promise<string | WorkerEnd> {
    const [first, ...others] = this.#slots
    if (first === undefined) throw new Error('workers must be at least 1')
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

  /** All running workers, including stopping workers. */
  get running(): ReadonlySet<WorkerProcess> {
    return this.#running
  }

  /** The running workers that this pool has told to stop. */
  get draining(): ReadonlySet<WorkerProcess> {
    return this.#draining
  }

  /**
   * The workers that accept requests. After `UNSTABLE_FAILURES` consecutive crashes, a restarted worker is not included
   * until the worker is stable.
   */
  get serving(): readonly WorkerProcess[] {
    const nowMs = performance.now()
    return this.#slots.flatMap(({ worker, readySinceMs, failures }) => {
      if (worker === undefined || readySinceMs === undefined) return []
      const isStable = failures < UNSTABLE_FAILURES || nowMs - readySinceMs >= STABLE_AFTER_MS
      return isStable ? [worker] : []
    })
  }

  /**
   * Replaces all workers, one after another. The pool stops each worker after its successor serves requests. If a
   * successor fails to start, the remaining workers stay.
   */
  roll(): Promise<void> {
    if (this.#rollQueued) return this.#queue
    this.#rollQueued = true
    return this.#runExclusively(async () => {
      this.#rollQueued = false
      for (const slot of this.#slots) if (!(await this.#replace(slot, 'roll'))) return
      this.#options.logger.info({ event: 'workers_replaced' }, 'all workers were replaced')
    })
  }

  async stop(how: ShutdownOptions['how']): Promise<void> {
    this.#stopping = true
    for (const slot of this.#slots) clearTimeout(slot.restart)
    await Promise.all([...this.#running].map((worker) => this.#stopWorker(worker, how)))
  }

  #runExclusively(work: () => Promise<unknown>): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (!this.#stopping) await work()
    })
    return this.#queue
  }

  async #replace(slot: Slot, reason: StartReason): Promise<boolean> {
    if (this.#stopping) return false
    const successor = this.#fork(reason)
    const url = await successor.ready
    if (this.#stopping) return false
    if (url === undefined) {
      this.#options.logger.error(
        { event: 'worker_not_replaced', pid: slot.worker?.pid },
        'a new worker failed to start: the old workers stay; the error of the new worker is above this line',
      )
      return false
    }
    const old = slot.worker
    clearTimeout(slot.restart)
    slot.failures = 0
    slot.worker = successor
    this.#adopt(slot, successor)
    if (old !== undefined) await this.#stopWorker(old, 'handoff')
    return true
  }

  /** Assigns a ready worker to the slot. After this call, an exit of the worker counts as a crash. */
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
    if (livedMs >= STABLE_AFTER_MS) slot.failures = 0
    const delayMs = restartDelayMs(slot.failures)
    slot.failures += 1
    this.#options.logger.error(
      { event: 'worker_crashed', pid, exit_code: end.code, signal: end.signal, restart_ms: delayMs },
      'a worker exited unexpectedly',
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
    const { fork, logger, onStarted, onExit } = this.#options
    const worker = fork((asking, why) => {
      logger.warn({ event: 'worker_leaves', pid: asking.pid, reason: why }, 'a worker requests a successor')
      const slot = this.#slots.find((one) => one.worker === asking)
      if (slot !== undefined)
        this.#runExclusively(async () => slot.worker === asking && this.#replace(slot, 'replace'))
    }, reason)
    this.#running.add(worker)
    onStarted(reason)
    worker.ended.then(() => {
      this.#running.delete(worker)
      this.#draining.delete(worker)
      onExit(worker.lastMetrics)
    })
    return worker
  }

  async #stopWorker(worker: WorkerProcess, how: ShutdownOptions['how']): Promise<void> {
    this.#draining.add(worker)
    worker.send({ kind: 'stop', how })
    const killTimer = setTimeout(() => worker.kill(), this.#options.graceMs + KILL_AFTER_GRACE_MS)
    await worker.ended
    clearTimeout(killTimer)
  }
}

const FIRST_MS = 100
const MAX_MS = 10_000

/**
 * Returns the delay before a crashed worker is restarted: 0 if `failures` is 0, then `FIRST_MS`. Each further failure
 * doubles the delay. Milliseconds.
 * @param failures number of consecutive crashes soon after the start.
 */
export function restartDelayMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1))
}
