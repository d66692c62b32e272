import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { ClaimSelection } from '../../../policy-engine/decide/named-claims.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { TokenStatus } from '../../tokens/cache/token-status.ts'
import type { TokenValidator } from '../../tokens/cache/token-validator.ts'
import { UnverifiableError } from '../../tokens/unverifiable-error.ts'

export type ValidateTokenOptions = {
  readonly verdicts: TokenValidator
  /** The claims that the gateway keeps from the token. */
  readonly wanted: ClaimSelection
  /** Receives the reason why the token cannot be validated. The response to the client does not contain it. */
  readonly onFailure: (error: UnverifiableError) => void
}

/** Default when the error has no retry time: a restarting issuer is usually available again after it. */
const RETRY_AFTER_SECONDS = 2

/**
 * Stage 4: validates the token, from the cache or at the issuer. Only an issuer in `issuers` validates it.
 * Reads `token`, `resource.issuers` and the claim selection of the route.
 * @returns the caller, synchronously on a cache hit; otherwise the refusal `token_invalid`, or `token_unverifiable`
 * when the issuer is unavailable.
 */
export function validateToken(
  token: string,
  issuers: readonly string[],
  options: ValidateTokenOptions,
): Caller | Refusal | Promise<Caller | Refusal> {
  const verdict = options.verdicts.verdictOf(token, issuers, options.wanted)
  return verdict instanceof Promise ? awaitVerdict(verdict, options) : readVerdict(verdict)
}

async function awaitVerdict(
  verdict: Promise<TokenStatus>,
  options: ValidateTokenOptions,
): Promise<Caller | Refusal> {
  try {
    return readVerdict(await verdict)
  } catch (error) {
    if (!(error instanceof UnverifiableError)) throw error
    options.onFailure(error)
    const retryAfterSeconds =
      error.retryAfterMs === undefined
        ? RETRY_AFTER_SECONDS
        : Math.max(1, Math.ceil(error.retryAfterMs / 1_000))
    return { refused: 'token_unverifiable', retryAfterSeconds }
  }
}

function readVerdict(verdict: TokenStatus): Caller | Refusal {
  return verdict.active ? verdict.caller : { refused: 'token_invalid', fault: verdict.fault }
}
