/** What a request has shown besides its token. */
export type PossessionProof = {
  /** The scheme of `Authorization`. */
  readonly scheme: 'bearer' | 'dpop'
  /**
   * Of the key that it holds: with `dpop` that of the proof, RFC 9449 section 6.1; with `bearer` the client certificate,
   * RFC 8705 section 3.1. SHA-256, base64url; undefined: of none.
   */
  readonly thumbprint: string | undefined
}

/** A token that came as a Bearer token, from somebody without a certificate. */
export const NO_POSSESSION_PROOF: PossessionProof = { scheme: 'bearer', thumbprint: undefined }
