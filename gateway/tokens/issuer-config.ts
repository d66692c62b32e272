import type { TokenTypeRule } from './jwt/jwt-rules.ts'
import type { KeysLocation } from './jwt/key-source.ts'

/** How the JWTs of an issuer are verified. */
export type JwtConfig = {
  readonly algorithms: readonly string[]
  readonly type: TokenTypeRule
  readonly keys: KeysLocation
  readonly refreshMs: number
  readonly cooldownMs: number
  readonly maxStaleMs: number
  /** For each document. */
  readonly timeoutMs: number
  /** Values of `aud` that stand for the base URL. */
  readonly audience: readonly string[]
  readonly claims: {
    readonly scope: readonly string[]
    readonly client: readonly string[]
    readonly subject: string
  }
  readonly clockToleranceSeconds: number
}

/** How the gateway asks an issuer about tokens. */
export type IntrospectionConfig = {
  readonly endpoint: string
  readonly clientId: string
  readonly clientSecret: string
  /** From the question to the last byte of the answer, queueing included. */
  readonly timeoutMs: number
  /** Questions on their way to the issuer at once. */
  readonly maxConcurrent: number
  /** Questions that wait for their turn; more are refused. */
  readonly maxQueue: number
  /** An answer is used no longer than this; Infinity: `tokenCache.maxTtl` alone counts. */
  readonly ttlMs: number
  /** Answers are JWTs that the issuer signed. RFC 9701. */
  readonly signed: boolean
}

/** Who issues tokens, and how they are checked: by their signature, by asking, or both. */
export type IssuerConfig = {
  readonly issuer: string
  /** The authorities that vouch for its certificates, in PEM; undefined: the public ones. */
  readonly ca: string | undefined
  readonly jwt: JwtConfig | undefined
  readonly introspection: IntrospectionConfig | undefined
  /** Where revocations are pushed from; undefined: they are noticed when a cached verdict ends. */
  readonly revocations: string | undefined
  /** It may send Security Event Tokens, with one of these values of `aud`; undefined: it may not. RFC 8935. */
  readonly securityEvents?: { readonly audience: readonly string[] } | undefined
}
