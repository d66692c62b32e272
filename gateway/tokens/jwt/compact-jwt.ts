/** A JWT whose form is right. Nothing of it is believed yet: whoever likes can write this. */
export type CompactJwt = {
  /** The compact form, as it came. RFC 7515 section 7.1. */
  readonly token: string
  readonly algorithm: string
  /** `kid`: a name to look up among the issuer's own keys, nothing more. */
  readonly keyId: string | undefined
  /** `typ` in lower case, without `application/`. RFC 7515 section 4.1.9. */
  readonly type: string | undefined
  readonly claims: ReadonlyMap<string, unknown>
  /** `iss`, when it is text: who is to be asked whether the rest is true. */
  readonly issuer: string | undefined
}
