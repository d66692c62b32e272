import { type Challenge, formatChallenge } from './challenge.ts'

export type TokenRejection = {
  readonly status: 400 | 401 | 403
  readonly error: NonNullable<Challenge['error']>
  readonly description: string
  /** Value of `WWW-Authenticate`. The challenge contains the same information as the other fields. */
  readonly challenge: string
  /** Accepted authentication context classes, space-separated. RFC 9470 section 3. */
  readonly acrValues?: string
  /** Maximum time since the sign-in. RFC 9470 section 3. */
  readonly maxAgeSeconds?: number
  /** Scopes that the operation requires, space-separated. Absent if the caller of `rejectToken()` gave no scopes. */
  readonly scope?: string
}

const STATUS = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  insufficient_user_authentication: 401,
  invalid_dpop_proof: 401,
  use_dpop_nonce: 401,
} as const

/**
 * Converts the reason for a token rejection to status, description and challenge. The challenge has the scheme of the
 * request.
 * Source: RFC 6750 section 3.1, which defines the status of each error code, RFC 9449 section 7.1 and RFC 9470 section 3.
 */
export function rejectToken(
  error: TokenRejection['error'],
  description: string,
  details: {
    readonly scope?: string
    readonly acrValues?: string
    readonly maxAgeSeconds?: number
    readonly resourceMetadata: string
    readonly scheme?: 'Bearer' | 'DPoP'
    /**
     * Adds a second challenge with the scheme `DPoP`, because the token is bound to a DPoP key. RFC 9449 section 7.2.
     */
    readonly offersDpop?: boolean
  },
): TokenRejection {
  const { offersDpop = false, ...rest } = details
  const rejected = formatChallenge({ error, errorDescription: description, ...rest })
  const challenge = offersDpop ? `${rejected}, ${formatChallenge({ scheme: 'DPoP' })}` : rejected
  const { scope, acrValues, maxAgeSeconds } = details
  return {
    status: STATUS[error],
    error,
    description,
    challenge,
    ...(scope === undefined ? {} : { scope }),
    ...(acrValues === undefined ? {} : { acrValues }),
    ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
  }
}
