import type { Logger } from '../../platform/logging/logger.ts'
import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'
import { type Store, StoreError, type StoreErrorReason } from '../store/store.ts'
import type { Metrics } from './metrics.ts'

type WatchedStore = {
  /** The watched store measures each operation, counts each failure, and updates the state after a failure. */
  readonly store: Store
  /**
   * Readiness checks. Each check has `ok: true` even after a failure, because metadata and keys work without the store.
   */
  checks(): readonly ReadinessCheck[]
  close(): void
}

const PROBE_EVERY_MS = 5_000
/**
 * The server logs only clock differences above this value. Readiness checks also ignore smaller differences. Seconds.
 */
const CLOCK_TOLERANCE_SECONDS = 5

const DETAILS: Readonly<Record<StoreErrorReason, string>> = {
  away: 'the store is unavailable',
  read_only: 'the store is read-only',
  full: 'the store is full',
  locked: 'another process holds the lock of the store',
  damaged: 'the store is damaged',
  failed: 'the store rejects writes',
}

/**
 * Starts to watch the store. Writes to the store at the start, every 5 s, and after a failed operation while the store
 * seems to work.
 * Each change of the state is one log line. The state is also in the metrics and in the readiness checks.
 */
export async function watchStore(options: {
  readonly store: Store
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<
    Metrics,
    'countStoreError' | 'setStoreWritable' | 'setClockDifference' | 'observeStoreOperation'
  >
}): Promise<WatchedStore> {
  const { logger, metrics } = options
  let failure: StoreErrorReason | undefined
  let clockAheadSeconds: number | undefined
  let isProbing = false
  let isClosed = false

  function report(next: StoreErrorReason | undefined, error?: unknown): void {
    metrics.setStoreWritable(next === undefined)
    if (next === failure) return
    failure = next
    if (next === undefined) logger.info({ event: 'store_recovered' }, 'the store accepts writes again')
    else
      logger.warn(
        { event: 'store_degraded', reason: next, cause: messageOf(error) },
        `${DETAILS[next]}: requests that need the store get 503`,
      )
  }

  function compareClocks(aheadSeconds: number | undefined): void {
    if (aheadSeconds === undefined) return
    metrics.setClockDifference(aheadSeconds)
    const [differed, differs] = [isFar(clockAheadSeconds), isFar(aheadSeconds)]
    clockAheadSeconds = aheadSeconds
    if (differs === differed) return
    const fields = { ahead_seconds: Math.round(aheadSeconds) }
    if (differs) logger.warn({ event: 'clock_differs', ...fields }, CLOCK_DIFFERS)
    else logger.info({ event: 'clock_agrees', ...fields }, 'the clock matches the clock of the store')
  }

  async function probe(): Promise<void> {
    if (isProbing || isClosed) return
    isProbing = true
    try {
      const aheadSeconds = await options.store.probe()
      if (isClosed) return
      compareClocks(aheadSeconds)
      report(undefined)
    } catch (error) {
      if (!isClosed) report(error instanceof StoreError ? error.reason : 'failed', error)
    } finally {
      isProbing = false
    }
  }

  await probe()
  const timer = setInterval(() => void probe(), PROBE_EVERY_MS).unref()
  return {
    store: observeStore(options.store, {
      onOperation: metrics.observeStoreOperation,
      onError: (error) => {
        metrics.countStoreError(error.reason)
        if (failure !== undefined) return
        // A late response alone is not an outage. The write probe checks whether the store works.
        if (error.reason === 'read_only' || error.reason === 'full') report(error.reason, error)
        else void probe()
      },
    }),
    checks: () => [
      failure === undefined
        ? { name: 'store', ok: true }
        : { name: 'store', ok: true, degraded: true, detail: `${failure}: ${DETAILS[failure]}` },
      ...(isFar(clockAheadSeconds) ? [clockCheck(clockAheadSeconds ?? 0)] : []),
    ],
    close: () => {
      isClosed = true
      clearInterval(timer)
    },
  }
}

const CLOCK_DIFFERS =
  'the clock of this server differs from the clock of the store: tokens begin and expire at the wrong time; synchronize both clocks'

function clockCheck(aheadSeconds: number): ReadinessCheck {
  const direction = aheadSeconds > 0 ? 'ahead of' : 'behind'
  const detail = `${Math.abs(Math.round(aheadSeconds))} s ${direction} the clock of the store`
  return { name: 'clock', ok: true, degraded: true, detail }
}

function isFar(aheadSeconds: number | undefined): boolean {
  return Math.abs(aheadSeconds ?? 0) > CLOCK_TOLERANCE_SECONDS
}

function messageOf(error: unknown): string | undefined {
  const cause = error instanceof StoreError ? error.cause : error
  return cause instanceof Error ? cause.message : undefined
}

type Operations = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

type StoreObserver = {
  onError(error: StoreError): void
  /** Receives each operation, such as `artifacts_find`, after its end. */
  onOperation: Metrics['observeStoreOperation']
}

/** Wraps a store so that `observer` receives all operations except the write probe. */
export function observeStore(store: Store, { onError, onOperation }: StoreObserver): Store {
  const observe = <Part extends object>(part: Part, prefix = ''): Part =>
    Object.fromEntries(
      Object.entries(part as unknown as Operations).map(([name, run]) => {
        const operation = prefix + name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
        const observed = async (...args: never[]): Promise<unknown> => {
          const startMs = performance.now()
          let result: 'ok' | StoreErrorReason = 'ok'
          try {
            return await run(...args)
          } catch (error) {
            result = error instanceof StoreError ? error.reason : 'failed'
            if (error instanceof StoreError) onError(error)
            throw error
          } finally {
            onOperation(operation, result, (performance.now() - startMs) / 1_000)
          }
        }
        return [name, observed]
      }),
    ) as Part
  const { exchange, sweep, ...rest } = store
  return {
    ...rest,
    ...observe({ exchange, sweep }),
    artifacts: (model) => observe(store.artifacts(model), 'artifacts_'),
    accounts: observe(store.accounts, 'accounts_'),
    attempts: observe(store.attempts, 'attempts_'),
    revocations: observe(store.revocations, 'revocations_'),
  }
}
