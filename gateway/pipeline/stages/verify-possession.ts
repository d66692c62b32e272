import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { NO_POSSESSION_PROOF, type PossessionProof } from '../../../policy-engine/decide/possession-proof.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { TargetRules } from '../../../policy-engine/match/canonical-target.ts'
import { type VerifyProofOptions, verifyProof } from '../../tokens/binding/verify-dpop-proof.ts'
import { isRequestAddress } from '../is-request-address.ts'
import type { RequestContext } from '../request-context.ts'

export type VerifyPossessionOptions = {
  readonly proofs: VerifyProofOptions
  /** Returns the thumbprint of the client certificate. */
  readonly certificateOf: (request: IncomingMessage) => string | undefined
  readonly rules: Omit<TargetRules, 'method'>
  readonly nowMs: () => number
}

/**
 * Verifies the proof of possession of a request: its DPoP proof, or its client certificate. It inspects only the proof
 * that the token requires, so other requests pay no cost.
 * Reads `canonical`, `token`, `credential` and `request` of the context; sets `nonceHeaders`.
 * @returns the proof, or the refusal `proof_invalid`, `proof_nonce` or `token_invalid`; synchronously, unless used
 * proofs are stored in Redis.
 */
export function verifyPossession(
  context: RequestContext,
  caller: Caller,
  options: VerifyPossessionOptions,
): PossessionProof | Refusal | Promise<PossessionProof | Refusal> {
  const { canonical, token, credential } = context
  if (credential !== 'dpop')
    return caller.confirmation?.kind === 'mtls'
      ? { scheme: 'bearer', thumbprint: options.certificateOf(context.request) }
      : NO_POSSESSION_PROOF
  // The DPoP scheme with a token that is not DPoP-bound: the decision denies it, whatever the proof is.
  if (caller.confirmation?.kind !== 'dpop' || canonical === undefined || token === undefined)
    return { scheme: 'dpop', thumbprint: undefined }
  const method = context.request.method ?? ''
  const key = verifyProof(
    canonical.headers.proof ?? '',
    {
      method,
      isAddress: (address) => isRequestAddress(address, canonical.path, { ...options.rules, method }),
      token,
      nowSeconds: options.nowMs() / 1_000,
      thumbprint: caller.confirmation.thumbprint,
    },
    options.proofs,
  )
  return key instanceof Promise ? key.then((known) => toProven(known, context)) : toProven(key, context)
}

function toProven(
  key: Awaited<ReturnType<typeof verifyProof>>,
  context: RequestContext,
): PossessionProof | Refusal {
  if ('refused' in key) return key
  // RFC 9449 section 8.2: any response may supply the next nonce.
  if (key.nextNonce !== undefined) context.nonceHeaders = ['dpop-nonce', key.nextNonce]
  return { scheme: 'dpop', thumbprint: key.thumbprint }
}
