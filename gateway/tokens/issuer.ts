import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import type { IntrospectionResult, TokenStatus } from './cache/token-status.ts'
import type { CompactJwt } from './jwt/read-compact-jwt.ts'

export type Issuer = {
  /** The issuer identifier, exactly as in tokens and metadata. */
  readonly issuer: string
  /**
   * Identifies the issuer's configuration in cache keys. Results of another configuration therefore do not apply.
   * Contains no line breaks.
   */
  readonly id: string
  /**
   * Validates a JWT of this issuer. `names` lists the claims that policies use. Undefined: all tokens of this issuer
   * are introspected.
   */
  readonly verify: ((jwt: CompactJwt, names: ClaimNames) => Promise<TokenStatus>) | undefined
  /**
   * Introspects a token, or returns a result from the shared cache. `sinceClearMs` is the time since this process last
   * cleared its token cache. Undefined: the issuer has no introspection.
   */
  readonly introspect:
    | ((token: string, sinceClearMs: number, names: ClaimNames) => Promise<IntrospectionResult>)
    | undefined
  /** Whether tokens of this issuer can be validated. The gateway continues to fetch missing keys. */
  readonly ready: boolean
  close(): Promise<void>
}
