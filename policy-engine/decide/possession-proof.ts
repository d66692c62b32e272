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
