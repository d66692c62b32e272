import type { Confirmation } from './confirmation.ts'
import type { NamedClaims } from './named-claims.ts'

/**
 * Who is calling, as an issuer vouched for it: claims only, never a decision.
 * One object lives as long as the cached verdict, so what a request needs of it is computed once.
 */
export type Caller = {
  /** Whose data the token is for. RFC 7662 section 2.2 `sub`; a client acting for itself has none. */
  readonly subject: string | undefined
  /** The client that presents the token. RFC 7662 section 2.2 `client_id`. */
  readonly clientId: string | undefined
  /** Granted scope tokens, exact and case-sensitive. RFC 6749 section 3.3. */
  readonly scopes: ReadonlySet<string>
  /** Resources that the token is meant for, each without a trailing slash. RFC 8707 section 2. */
  readonly audience: readonly string[]
  readonly issuer: string
  /** The last second at which the token may be used. Seconds since the epoch. */
  readonly expiresAtSeconds: number
  /** The first second at which the token may be used, the clocks' tolerance taken off. Seconds since the epoch. */
  readonly notBeforeSeconds: number | undefined
  /** When the token was issued, as its issuer says. Seconds since the epoch. */
  readonly issuedAtSeconds: number | undefined
  /** Hash of the grant that the token came from; revocations are pushed by it. */
  readonly grant: string | undefined
  /** Hash of issuer and `jti`: names this one token. RFC 7519 section 4.1.7. */
  readonly tokenId: string | undefined
  /** What the token is bound to; undefined for one that whoever holds it may send. */
  readonly confirmation: Confirmation | undefined
  /** What the token says in the claims that policies name. */
  readonly claims: NamedClaims
  /** The identity headers for the upstream: name, value, name, value. */
  readonly identityHeaders: readonly string[]
}
