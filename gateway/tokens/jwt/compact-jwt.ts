/** A well-formed JWT. No claim is trusted before the signature is verified: anyone can create this text. */
export type CompactJwt = {
  /** The compact form, unmodified. RFC 7515 section 7.1. */
  readonly token: string
  readonly algorithm: string
  /** `kid`: only for a lookup among the issuer's own keys. */
  readonly keyId: string | undefined
  /** `typ` in lower case, without `application/`. RFC 7515 section 4.1.9. */
  readonly type: string | undefined
  readonly claims: ReadonlyMap<string, unknown>
  /** `iss`, if it is a string: the issuer that must have signed the JWT. */
  readonly issuer: string | undefined
}
