import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { NO_POSSESSION_PROOF, type PossessionProof } from '../../policy-engine/decide/possession-proof.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import type { TargetRules } from '../../policy-engine/match/canonical-target.ts'
import { type VerifyProofOptions, verifyProof } from '../tokens/binding/verify-dpop-proof.ts'
import { isRequestAddress } from './is-request-address.ts'
import type { RequestContext } from './request-context.ts'

export type VerifyPossessionOptions = {
  readonly proofs: VerifyProofOptions
  /** The thumbprint of the client's certificate. */
  readonly certificateOf: (request: IncomingMessage) => string | undefined
  readonly rules: Omit<TargetRules, 'method'>
  readonly nowMs: () => number
}

/**
 * What the request of a bound token shows of the key that the token is bound to. Nothing else is looked at: what a token
 * does not ask for costs nothing.
 * @returns what is proven, or `proof_invalid`, `proof_nonce` or `token_invalid`; at once, unless Redis remembers proofs.
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
  // Whoever sends such a token in this way hears that, whatever the proof is.
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
  // RFC 9449 section 8.2: a client is told the next nonce with whatever it is answered.
  if (key.nextNonce !== undefined) context.nonceHeaders = ['dpop-nonce', key.nextNonce]
  return { scheme: 'dpop', thumbprint: key.thumbprint }
}
