import type { Logger } from '../../platform/logging/logger.ts'

export type StaleUsesOptions = {
  readonly issuer: string
  readonly tickMs: () => number
  /** Calls back once after a delay in milliseconds, and returns a function that cancels the call. */
  readonly after: (delayMs: number, call: () => void) => () => void
  readonly onUsed: () => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

/**
 * Counts and logs the uses of earlier statuses of one issuer's tokens. The gateway uses earlier statuses while the
 * issuer cannot respond.
 */
export type StaleUses = {
  /** Whether an earlier status was used in the last ten seconds. */
  readonly isActive: boolean
  used(): void
  close(): void
}

/**
 * Time after the last use of an earlier status until the uses count as ended. With this delay, repeated failures of an
 * issuer cause one pair of log lines, not one pair for each failure. Milliseconds.
 */
const QUIET_MS = 10_000

/** Logs one line when the uses begin, and one line when the uses end. */
export function createStaleUses({ issuer, tickMs, after, onUsed, logger }: StaleUsesOptions): StaleUses {
  let uses = 0
  let beganAtMs = 0
  let lastUseAtMs = 0
  let cancel = (): void => undefined

  function begin(): void {
    beganAtMs = tickMs()
    logger.warn(
      { event: 'stale_tokens_accepted', issuer },
      'the issuer does not respond: the gateway accepts known tokens by their last check, for at most staleIfError',
    )
    cancel = after(QUIET_MS, endWhenQuiet)
  }

  function endWhenQuiet(): void {
    const quietMs = tickMs() - lastUseAtMs
    if (quietMs < QUIET_MS) {
      cancel = after(QUIET_MS - quietMs, endWhenQuiet)
      return
    }
    const seconds = Math.ceil((lastUseAtMs - beganAtMs) / 1_000)
    logger.info(
      { event: 'stale_tokens_ended', issuer, count: uses, seconds },
      'no token was accepted by an earlier check for 10 s',
    )
    uses = 0
  }

  return {
    get isActive() {
      return uses > 0
    },
    used() {
      if (uses === 0) begin()
      uses += 1
      lastUseAtMs = tickMs()
      onUsed()
    },
    close: () => cancel(),
  }
}
