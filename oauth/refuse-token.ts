import { type Challenge, formatChallenge } from './challenge.ts'

/** What a resource answers to a token that it does not take. */
export type TokenRefusal = {
  readonly status: 400 | 401 | 403
  readonly error: NonNullable<Challenge['error']>
  readonly description: string
  /** The value of `WWW-Authenticate`; it says the same as the rest. */
  readonly challenge: string
  /** What the operation needs, space-separated, where it was told. */
  readonly scope?: string
}

const STATUS = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  invalid_dpop_proof: 401,
  use_dpop_nonce: 401,
} as const

/**
 * Puts the reason why a token is not taken into status, words and challenge, in the scheme that the client used.
 * Source: RFC 6750 section 3.1, which ties each error code to its status; RFC 9449 section 7.1.
 */
export function refuseToken(
  error: TokenRefusal['error'],
  description: string,
  told: {
    readonly scope?: string
    readonly resourceMetadata: string
    readonly scheme?: 'Bearer' | 'DPoP'
    /** A second challenge says that the token is for DPoP. RFC 9449 section 7.2. */
    readonly offersDpop?: boolean
  },
): TokenRefusal {
  const { offersDpop = false, ...rest } = told
  const refused = formatChallenge({ error, errorDescription: description, ...rest })
  const challenge = offersDpop ? `${refused}, ${formatChallenge({ scheme: 'DPoP' })}` : refused
  const { scope } = told
  return { status: STATUS[error], error, description, challenge, ...(scope === undefined ? {} : { scope }) }
}
