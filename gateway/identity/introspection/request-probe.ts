/** Tells a rejected token apart from an issuer that rejects every request of the gateway. */
export type RequestProbe = {
  /** Records that the issuer accepted a request. */
  accepted(): void
  /** Whether the issuer accepts introspection requests. Sends one, unless the issuer accepted another within 5 s. */
  isAccepted(signal: AbortSignal): Promise<boolean>
}

/** A token that no issuer issues. The issuer reports it as inactive when it accepts the request. */
export const PROBE_TOKEN = 'scopegate-introspection-probe'

/** Short, because an issuer that starts to reject every request says nothing about tokens. Milliseconds. */
const ACCEPTED_FOR_MS = 5_000
/** The pause after a probe that failed. Milliseconds. */
const RETRY_AFTER_MS = 1_000

const ACCEPTED = Promise.resolve(true)

/**
 * Creates the probe of one issuer. Concurrent callers share one probe.
 * @param options.send sends an introspection request, and rejects when the issuer does not accept it.
 */
export function createRequestProbe(options: {
  readonly send: (token: string, signal: AbortSignal) => Promise<unknown>
  readonly tickMs: () => number
}): RequestProbe {
  let result = ACCEPTED
  let validUntilMs = Number.NEGATIVE_INFINITY

  return {
    accepted() {
      result = ACCEPTED
      validUntilMs = options.tickMs() + ACCEPTED_FOR_MS
    },
    isAccepted(signal) {
      if (options.tickMs() >= validUntilMs) {
        validUntilMs = options.tickMs() + RETRY_AFTER_MS
        result = options.send(PROBE_TOKEN, signal).then(
          () => true,
          () => false,
        )
      }
      return result
    },
  }
}
