import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import type { IntrospectionResult } from './cache/introspection-result.ts'
import type { TokenStatus } from './cache/token-status.ts'
import type { CompactJwt } from './jwt/compact-jwt.ts'

/** Who issues tokens, and the ways there are to know whether one is good. */
export type Issuer = {
  /** Exactly as tokens and metadata say it. */
  readonly issuer: string
  /** Names its configuration in cache keys: what was found out under another one does not count. No line breaks. */
  readonly id: string
  /** Checks a JWT that names this issuer; `names` are the claims that policies name. Undefined: its tokens are always asked about. */
  readonly verify: ((jwt: CompactJwt, names: ClaimNames) => Promise<TokenStatus>) | undefined
  /**
   * Asks the issuer about a token, or takes what another gateway was told; `sinceClearMs` is how long ago everything was
   * forgotten here. Undefined: it answers no such questions.
   */
  readonly introspect:
    | ((token: string, sinceClearMs: number, names: ClaimNames) => Promise<IntrospectionResult>)
    | undefined
  /** Whether its tokens can be checked. What it lacks, it goes on fetching. */
  readonly ready: boolean
  close(): Promise<void>
}
