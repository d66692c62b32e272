import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { verifyProof } from '../../tokens/binding/verify-dpop-proof.ts'
import { isRequestAddress } from '../is-request-address.ts'
import type { MatchedContext } from '../request-context.ts'
import { traced } from '../request-spans.ts'

/**
 * Verifies the proof of possession of a request: its DPoP proof, or its client certificate. The stage inspects only the
 * proof that the token requires, so other requests have no cost.
 * Reads `caller`, `token`, `credential`, `canonical` and `request`. Sets `possessionProof` and `nonceHeaders`.
 * @returns a promise if used proofs are stored in Redis. The rejections are `proof_invalid` and `proof_nonce` (401).
 */
export function verifyPossession(
  context: MatchedContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { caller, token, credential, services } = context
  if (caller === undefined || token === undefined) return undefined
  if (credential === 'bearer') {
    if (caller.confirmation?.kind === 'mtls')
      context.possessionProof = { scheme: 'bearer', thumbprint: services.certificateOf(context.request) }
    return undefined
  }
  if (caller.confirmation?.kind !== 'dpop') {
    // The request uses the DPoP scheme, but the token is not DPoP-bound. The stage `decide` rejects the token, even
    // with a valid proof.
    context.possessionProof = { scheme: 'dpop', thumbprint: undefined }
    return undefined
  }
  const { method, canonical } = context
  const { thumbprint } = caller.confirmation
  const proof = traced(context, () =>
    verifyProof(
      canonical.headers.proof ?? '',
      {
        method,
        isAddress: (address) =>
          isRequestAddress(address, canonical.path, { ...services.targetRules, method }),
        token,
        nowSeconds: services.nowMs() / 1_000,
        thumbprint,
      },
      services.proofs,
    ),
  )
  return proof instanceof Promise
    ? proof.then((verified) => applyProof(context, verified))
    : applyProof(context, proof)
}

function applyProof(
  context: MatchedContext,
  proof: Awaited<ReturnType<typeof verifyProof>>,
): Rejection | undefined {
  if ('rejected' in proof) return proof
  // RFC 9449 section 8.2: any response may supply the next nonce.
  if (proof.nextNonce !== undefined) context.nonceHeaders = ['dpop-nonce', proof.nextNonce]
  context.possessionProof = { scheme: 'dpop', thumbprint: proof.thumbprint }
  return undefined
}
