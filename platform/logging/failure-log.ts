import { describeFailure, type Logger } from './logger.ts'

/** A kind of failure that may repeat with every request. */
export type FailureKind = {
  readonly event: string
  readonly message: string
  /** Where it happens, as log fields. The values come from the configuration, never from a caller: kinds stay in memory. */
  readonly place?: Readonly<Record<string, string>>
  /** `warn` unless given. */
  readonly level?: 'warn' | 'error'
}

/** Logs failures that repeat without a line for each of them. */
export type FailureLog = {
  /**
   * Logs the first failure of a kind at once. Counts further ones with the same event, place and error code, and logs the
   * count when the interval ends.
   */
  failed(kind: FailureKind, error: unknown, requestId?: string): void
  /** Logs the counts of the current intervals. */
  close(): void
}

type Repeated = { count: number; readonly logCount: () => void; cancel: () => void }

const INTERVAL_SECONDS = 60

/** Creates a failure log. `after` calls back once and returns a function that cancels the call. */
export function createFailureLog(
  logger: Pick<Logger, 'warn' | 'error'>,
  after: (delayMs: number, call: () => void) => () => void = afterDelay,
): FailureLog {
  const kinds = new Map<string, Repeated>()

  function watch(key: string, repeated: Repeated): void {
    repeated.cancel = after(INTERVAL_SECONDS * 1_000, () => {
      if (repeated.count === 0) {
        kinds.delete(key)
        return
      }
      repeated.logCount()
      watch(key, repeated)
    })
  }

  return {
    failed({ event, message, place = {}, level = 'warn' }, error, requestId) {
      const err = describeFailure(error)
      const key = [event, ...Object.values(place), err.code ?? err.type].join('\n')
      const known = kinds.get(key)
      if (known !== undefined) {
        known.count += 1
        return
      }
      logger[level]({ event, ...place, request_id: requestId, err: isDefect(error) ? error : err }, message)
      const repeated: Repeated = {
        count: 0,
        logCount() {
          const { count } = repeated
          logger[level]({ event, ...place, count, seconds: INTERVAL_SECONDS, err }, message)
          repeated.count = 0
        },
        cancel: () => undefined,
      }
      kinds.set(key, repeated)
      watch(key, repeated)
    },
    close() {
      for (const { count, logCount, cancel } of kinds.values()) {
        cancel()
        if (count > 0) logCount()
      }
      kinds.clear()
    },
  }
}

/** An error of the language has no code. Its stack is worth a line. */
function isDefect(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some(
    (type) => error instanceof type && !('code' in error),
  )
}

function afterDelay(delayMs: number, call: () => void): () => void {
  const timer = setTimeout(call, delayMs).unref()
  return () => clearTimeout(timer)
}
