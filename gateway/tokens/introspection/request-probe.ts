/** Distinguishes a rejected token from an issuer that rejects every request of the gateway. */
export type RequestProbe = {
  /**
   * Records a token that the issuer reported as active. Probes have the form of this token, because a client chooses
   * the form of any other token.
   */
  active(token: string): void
  /**
   * Sends a probe, unless a probe failed within the last second. Returns whether the issuer accepts requests after this
   * call.
   */
  isAccepted(signal: AbortSignal): Promise<boolean>
}

/** The token of a probe until the issuer has reported a first token as active. */
export const PROBE_TOKEN = 'scopegate-introspection-probe'

/** The pause after a probe that failed. Milliseconds. */
const RETRY_AFTER_MS = 1_000
/**
 * Number of replaced characters. The replaced characters and the last character of a token are as long as the last
 * group of a UUID. The signature of any JWT is longer.
 */
const REPLACED_LENGTH = 11

/**
 * Creates the probe of one issuer. Concurrent callers share one probe. A caller never uses the result of a probe that
 * began before the call. The issuer may have begun to reject every request after that probe.
 * @param options.send sends an introspection request, and rejects when the issuer does not accept the request.
 * @param options.onFailed receives the reason when the issuer does not accept a probe.
 */
export function createRequestProbe(options: {
  readonly send: (token: string, signal: AbortSignal) => Promise<unknown>
  readonly tickMs: () => number
  readonly onFailed: (error: unknown) => void
}): RequestProbe {
  const { send, tickMs, onFailed } = options
  let probeToken = PROBE_TOKEN
  let pausedUntilMs = Number.NEGATIVE_INFINITY
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<boolean> | undefined

  async function probe(signal: AbortSignal): Promise<boolean> {
    if (tickMs() < pausedUntilMs) return false
    try {
      await send(probeToken, signal)
      return true
    } catch (error) {
      pausedUntilMs = tickMs() + RETRY_AFTER_MS
      onFailed(error)
      return false
    }
  }

  return {
    active(token) {
      const replaced = replaceEnd(token)
      if (replaced !== token) probeToken = replaced
    },
    isAccepted(signal) {
      next ??= current.then(() => {
        next = undefined
        const result = probe(signal)
        current = result
        return result
      })
      return next
    },
  }
}

/**
 * Creates a token of the same form: a JWT with a wrong signature, or an opaque token with a different end. The last
 * character stays the same, because base64url permits only some of the 64 characters at the end.
 */
function replaceEnd(token: string): string {
  const start = Math.max(token.length - 1 - REPLACED_LENGTH, token.length >> 1)
  return (
    token.slice(0, start) + token.slice(start, -1).replace(/[a-z\d]/gi, replaceCharacter) + token.slice(-1)
  )
}

/**
 * Each new character is valid in hexadecimal, base32, base58 and base64url. The new character is therefore valid
 * wherever the old character is.
 */
function replaceCharacter(character: string): string {
  const [first = '', second = ''] = character <= '9' ? '23' : character <= 'Z' ? 'AB' : 'ab'
  return character === first ? second : first
}
