import type { Confirmation } from './confirmation.ts'
import type { PossessionProof } from './possession-proof.ts'
import type { TokenFault } from './refusal.ts'

/**
 * Whether a token came from whom it is bound to. A bound one is never taken for a Bearer token, nor the other way round.
 * Source: RFC 9449 sections 7.1 and 7.2, RFC 8705 section 3.
 */
export function checkConfirmation(
  confirmation: Confirmation | undefined,
  proven: PossessionProof,
): TokenFault | undefined {
  if (proven.scheme === 'dpop') {
    if (confirmation?.kind !== 'dpop') return { reason: 'not_bound' }
    return proven.thumbprint === confirmation.thumbprint ? undefined : { reason: 'wrong_key' }
  }
  if (confirmation === undefined) return undefined
  if (confirmation.kind === 'dpop') return { reason: 'proof_missing' }
  if (proven.thumbprint === undefined) return { reason: 'certificate_missing' }
  return proven.thumbprint === confirmation.thumbprint ? undefined : { reason: 'wrong_certificate' }
}
