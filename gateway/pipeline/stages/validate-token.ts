import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { ClaimSelection } from '../../../policy-engine/decide/named-claims.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { TokenStatus } from '../../tokens/cache/token-status.ts'
import type { TokenValidator } from '../../tokens/cache/token-validator.ts'
import { UnverifiableError } from '../../tokens/unverifiable-error.ts'

/** Who knows about tokens. */
export type ValidateTokenOptions = {
  readonly verdicts: TokenValidator
  /** Which claims of the token count. */
  readonly wanted: ClaimSelection
  /** Takes the reason why the token cannot be validated. The client learns only that it cannot. */
  readonly onFailure: (error: UnverifiableError) => void
}

/** Where the failure does not tell: an issuer that restarts is back within this. Seconds. */
const RETRY_AFTER_SECONDS = 2

/**
 * Stage 4: who is calling, from the cache at once or from the issuer. Nobody but `issuers` is asked.
 * @returns the caller; `token_invalid`; `token_unverifiable` when it cannot be known, which opens nothing.
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
