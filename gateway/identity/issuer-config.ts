import type { TokenTypeRule } from './jwt/jwt-rules.ts'
import type { KeysPlace } from './jwt/key-source.ts'

/** How the JWTs of an issuer are verified. */
export type JwtConfig = {
  readonly algorithms: readonly string[]
  readonly type: TokenTypeRule
  readonly keys: KeysPlace
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
  readonly timeoutMs: number
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
}
