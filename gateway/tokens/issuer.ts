import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import type { EarlierStatus, IntrospectionResult, TokenStatus } from './cache/token-status.ts'
import type { CompactJwt } from './jwt/read-compact-jwt.ts'

export type StaleUse = {
  /** Longest wait for the check of a token that has an earlier status. Milliseconds. */
  readonly patienceMs: number
  used(): void
}

export type Issuer = {
  /** The issuer identifier, exactly as in tokens and metadata. */
  readonly issuer: string
  /**
   * Identifies the issuer's configuration in cache keys. A change of the configuration changes this ID, so cached
   * results of the earlier configuration are not used. Contains no line breaks.
   */
  readonly id: string
  /**
   * Validates a JWT of this issuer. `names` lists the claims that policies use. `requestId` is for the log. Undefined:
   * all tokens of this issuer are introspected.
   */
  readonly verify:
    | ((jwt: CompactJwt, names: ClaimNames, requestId: string | undefined) => Promise<TokenStatus>)
    | undefined
  /**
   * Introspects a token, or returns a result from the shared cache. `sinceGapMs` is the time since the last revocation
   * gap. While the issuer cannot respond, returns the earlier status. `requestId` identifies the request at the issuer
   * and in the log. Undefined: the issuer has no introspection.
   */
  readonly introspect:
    | ((
        token: string,
        sinceGapMs: number,
        names: ClaimNames,
        earlier: EarlierStatus,
        requestId: string | undefined,
      ) => Promise<IntrospectionResult>)
    | undefined
  /** The use of earlier statuses while the issuer cannot respond. Undefined: earlier statuses are not used. */
  readonly stale?: StaleUse | undefined
  /**
   * Returns how long a JWT may be accepted by its signature. 0 or less: revocations of the JWT may be missing, so the
   * JWT needs introspection. Undefined: until the JWT expires. Milliseconds.
   */
  readonly usableMs?: ((caller: Caller) => number) | undefined
  /** Whether tokens of this issuer can be validated. The gateway continues to fetch missing keys. */
  readonly ready: boolean
  close(): Promise<void>
}
