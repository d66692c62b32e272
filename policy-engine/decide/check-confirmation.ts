import type { Confirmation } from './confirmation.ts'
import type { PossessionProof } from './possession-proof.ts'
import type { TokenFault } from './refusal.ts'

/**
 * Checks that the sender of a token has the key or certificate that the token is bound to.
 * Rejects a DPoP-bound token with the scheme `Bearer`, and any other token with the scheme `DPoP`.
 * Source: RFC 9449 sections 7.1 and 7.2, RFC 8705 section 3.
 */
export function checkConfirmation(
  confirmation: Confirmation | undefined,
  proof: PossessionProof,
): TokenFault | undefined {
  if (proof.scheme === 'dpop') {
    if (confirmation?.kind !== 'dpop') return { reason: 'not_bound' }
    return proof.thumbprint === confirmation.thumbprint ? undefined : { reason: 'wrong_key' }
  }
  if (confirmation === undefined) return undefined
  if (confirmation.kind === 'dpop') return { reason: 'proof_missing' }
  if (proof.thumbprint === undefined) return { reason: 'certificate_missing' }
  return proof.thumbprint === confirmation.thumbprint ? undefined : { reason: 'wrong_certificate' }
}
