import { formatChallenge } from './challenge.ts'

/** What a resource answers to a token that it does not take. */
export type TokenRefusal = {
  readonly status: 400 | 401 | 403
  readonly error: 'invalid_request' | 'invalid_token' | 'insufficient_scope'
  readonly description: string
  /** The value of `WWW-Authenticate`; it says the same as the rest. */
  readonly challenge: string
  /** What the operation needs, space-separated, where it was told. */
  readonly scope?: string
}

const STATUS = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 } as const

/**
 * Puts the reason why a token is not taken into status, words and challenge.
 * Source: RFC 6750 section 3.1, which ties each error code to its status.
 */
export function refuseToken(
  error: TokenRefusal['error'],
  description: string,
  told: { readonly scope?: string; readonly resourceMetadata: string },
): TokenRefusal {
  const challenge = formatChallenge({ error, errorDescription: description, ...told })
  const { scope } = told
  return { status: STATUS[error], error, description, challenge, ...(scope === undefined ? {} : { scope }) }
}
