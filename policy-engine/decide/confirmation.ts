import { isRecord } from '../../platform/diagnostics/record.ts'
import type { TokenFault } from './rejection.ts'

/**
 * Key that a token is bound to. Only the holder of this key may send the token.
 * `dpop`: SHA-256 thumbprint of a public key, RFC 9449 section 6.1.
 * `mtls`: SHA-256 thumbprint of a client certificate, RFC 8705 section 3.1.
 * Both thumbprints are base64url.
 */
export type Confirmation = { readonly kind: 'dpop' | 'mtls'; readonly thumbprint: string }

const SHA256_BASE64URL = /^[\w-]{43}$/

const KINDS: ReadonlyMap<string, Confirmation['kind']> = new Map([
  ['jkt', 'dpop'],
  ['x5t#S256', 'mtls'],
])

/**
 * Parses the claim `cnf`. A token with an unknown binding is unusable, because the gateway cannot verify the binding.
 * Source: RFC 7800 section 3.1, which allows one key.
 * @returns undefined without the claim; `unknown` for another binding or more than one binding.
 */
export function readConfirmation(cnf: unknown): Confirmation | 'unknown' | undefined {
  if (cnf === undefined) return undefined
  if (!isRecord(cnf)) return 'unknown'
  const [member, ...others] = Object.entries(cnf)
  if (member === undefined || others.length > 0) return 'unknown'
  const [name, thumbprint] = member
  const kind = KINDS.get(name)
  if (kind === undefined || typeof thumbprint !== 'string' || !SHA256_BASE64URL.test(thumbprint))
    return 'unknown'
  return { kind, thumbprint }
}

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

export type PossessionProof = {
  readonly scheme: 'bearer' | 'dpop'
  /**
   * SHA-256 thumbprint of the proven key, base64url. undefined: the request does not prove possession of a key.
   * `dpop`: key of the DPoP proof, RFC 9449 section 6.1. `bearer`: client certificate, RFC 8705 section 3.1.
   */
  readonly thumbprint: string | undefined
}

/** A Bearer token without a client certificate. */
export const NO_POSSESSION_PROOF: PossessionProof = { scheme: 'bearer', thumbprint: undefined }
