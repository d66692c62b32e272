import type { Confirmation } from './confirmation.ts'
import type { NamedClaims } from './named-claims.ts'

/**
 * Identity and claims of a caller, as the issuer of the token asserts them.
 * A caller contains no decision. The token cache keeps the object. Values that several requests need are therefore
 * computed only once.
 */
export type Caller = {
  /**
   * RFC 7662 section 2.2 `sub`: the user who gave access to their data. undefined: the client acts without a user.
   */
  readonly subject: string | undefined
  /** RFC 7662 section 2.2 `client_id`: the client that presents the token. */
  readonly clientId: string | undefined
  /** Granted scope tokens, exact and case-sensitive. RFC 6749 section 3.3. */
  readonly scopes: ReadonlySet<string>
  /** Resources for which the token was issued, each without its trailing slash. RFC 8707 section 2. */
  readonly audience: readonly string[]
  readonly issuer: string
  /** Time at which the token expires. Seconds since the epoch. */
  readonly expiresAtSeconds: number
  /** Time from which the token is valid, minus the clock tolerance. Seconds since the epoch. */
  readonly notBeforeSeconds: number | undefined
  /** Time at which the token was issued, according to its issuer. Seconds since the epoch. */
  readonly issuedAtSeconds: number | undefined
  /** Hash of the grant of the token. Revocations identify the grant by this hash. */
  readonly grant: string | undefined
  /** Hash of issuer and `jti`, which identifies this token. RFC 7519 section 4.1.7. */
  readonly tokenId: string | undefined
  /** Key or client certificate that the token is bound to. undefined: a bearer token. */
  readonly confirmation: Confirmation | undefined
  /** Values of the claims that policies or `identity.claims` name. */
  readonly claims: NamedClaims
  /** Identity headers for the upstream: name, value, name, value. */
  readonly identityHeaders: readonly string[]
}
