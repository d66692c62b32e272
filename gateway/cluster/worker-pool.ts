import type { Logger } from '../../platform/logging/logger.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import type { WorkerEnd, WorkerProcess } from './fork-worker.ts'
import type { MetricsJson } from './worker-messages.ts'

type WorkerPoolOptions = {
  readonly workers: number
  readonly fork: (
    onReplace: (worker: WorkerProcess, reason: string) => void,
    reason: StartReason,
  ) => WorkerProcess
  readonly logger: Logger
  /** A worker that is still running after this time is killed when it was asked to stop. Milliseconds. */
  readonly graceMs: number
  readonly onStarted: (reason: StartReason) => void
  readonly onGone: (metrics: MetricsJson) => void
}

/** Reason for the start of a worker: initial start, crash, rolling restart, or a request of its predecessor. */
type StartReason = 'start' | 'crash' | 'roll' | 'replace'

/** A worker that has served for this time counts as stable: after a crash it is restarted immediately. Milliseconds. */
const SOUND_AFTER_MS = 2_000
/** After this many consecutive crashes, a restarted worker is used only when it is stable. */
const DOUBTFUL_FAILURES = 3
/** Additional time after the grace period, before a worker that hangs is killed. Milliseconds. */
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
   * Starts the first worker, and the others after the first one serves requests.
   * @returns the public address; or the exit of the first worker, if it failed to start and has logged the reason.
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

  /** All running workers, including those that are stopping. */
  get living(): ReadonlySet<WorkerProcess> {
    return this.#living
  }

  /** The workers that accept requests, without restarted ones that are not stable yet. */
  get serving(): readonly WorkerProcess[] {
    const nowMs = performance.now()
    return this.#slots.flatMap(({ worker, readySinceMs, failures }) => {
      if (worker === undefined || readySinceMs === undefined) return []
      const isSound = failures < DOUBTFUL_FAILURES || nowMs - readySinceMs >= SOUND_AFTER_MS
      return isSound ? [worker] : []
    })
  }

  /** Replaces all workers, one after another. Each worker is stopped after its successor serves requests. */
  roll(): Promise<void> {
    if (this.#rollWaits) return this.#turn
    this.#rollWaits = true
    return this.#runExclusively(async () => {
      this.#rollWaits = false
      for (const slot of this.#slots) if (!(await this.#replace(slot, 'roll'))) return
      this.#options.logger.info({ event: 'workers_replaced' }, 'all workers were replaced')
    })
  }

  async stop(how: ShutdownOptions['how']): Promise<void> {
    this.#stopping = true
    for (const slot of this.#slots) clearTimeout(slot.restart)
    await Promise.all([...this.#living].map((worker) => this.#end(worker, how)))
  }

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
        'a new worker failed to start (see its error above): the old workers stay',
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

  /** Assigns a ready worker to the slot. From now on, its exit is a crash. */
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
    const { fork, logger, onStarted, onGone } = this.#options
    const worker = fork((asking, why) => {
      logger.warn({ event: 'worker_leaves', pid: asking.pid, reason: why }, 'a worker requests a successor')
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

const FIRST_MS = 100
const MOST_MS = 10_000

/**
 * Returns the delay before a crashed worker is restarted: 0 after the first crash, then doubled each time.
 * Milliseconds.
 * @param failures number of consecutive crashes soon after the start.
 */
export function restartDelayMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1))
}
