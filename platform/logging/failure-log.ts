import { describeFailure, type Logger } from './logger.ts'

/** A kind of failure that can repeat with every request. */
export type FailureKind = {
  readonly event: string
  readonly message: string
  /**
   * Location of the failure as log fields. The values must come from the configuration, not from a caller, because each
   * combination of values occupies memory.
   */
  readonly fields?: Readonly<Record<string, string>>
  /** Default: `warn`. */
  readonly level?: 'warn' | 'error'
}

/** Logs repeated failures with one line per interval instead of one line per failure. */
export type FailureLog = {
  /**
   * Logs the first failure of a kind immediately. Counts further failures with the same event, fields and error code,
   * and logs the count at the end of the interval.
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
    failed({ event, message, fields = {}, level = 'warn' }, error, requestId) {
      const err = describeFailure(error)
      const key = [event, ...Object.values(fields), err.code ?? err.type].join('\n')
      const known = kinds.get(key)
      if (known !== undefined) {
        known.count += 1
        return
      }
      logger[level]({ event, ...fields, request_id: requestId, err: isDefect(error) ? error : err }, message)
      const repeated: Repeated = {
        count: 0,
        logCount() {
          const { count } = repeated
          logger[level]({ event, ...fields, count, seconds: INTERVAL_SECONDS, err }, message)
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

/** Returns true for an error of JavaScript itself, which has no code. The log contains the stack of such an error. */
function isDefect(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some(
    (type) => error instanceof type && !('code' in error),
  )
}

function afterDelay(delayMs: number, call: () => void): () => void {
  const timer = setTimeout(call, delayMs).unref()
  return () => clearTimeout(timer)
}
