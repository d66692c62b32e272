import type { JwtRules, TokenTypeRule } from './jwt/jwt-rules.ts'
import type { KeysLocation } from './jwt/key-source.ts'

export type JwtConfig = {
  readonly algorithms: readonly string[]
  readonly type: TokenTypeRule
  readonly keys: KeysLocation
  readonly refreshMs: number
  readonly cooldownMs: number
  readonly maxStaleMs: number
  /** Deadline for the fetch of each document. Milliseconds. */
  readonly timeoutMs: number
  /** Values of `aud` that identify the base URL. */
  readonly audience: readonly string[]
  readonly claims: JwtRules['claims']
  readonly clockToleranceSeconds: number
  /**
   * Maximum time between a revocation and its effect while the revocation stream is down. If undefined, the gateway
   * accepts a revoked token until the token expires.
   */
  readonly maxRevocationDelayMs: number | undefined
}

export type IntrospectionConfig = {
  readonly endpoint: string
  readonly clientId: string
  /** The secret at the start of the process. */
  readonly clientSecret: string
  /** The file of the secret. Undefined: the secret does not change. */
  readonly clientSecretFile?: string | undefined
  /** Deadline from the call to the last byte of the response, queueing included. Milliseconds. */
  readonly timeoutMs: number
  readonly maxConcurrent: number
  /** Maximum number of queued requests. The gateway rejects further requests. */
  readonly maxQueue: number
  /**
   * Maximum time for which an introspection result is used. Infinity: only `tokenCache.maxTtl` limits this time.
   * Milliseconds.
   */
  readonly ttlMs: number
  /** The issuer signs introspection responses as JWTs. RFC 9701. */
  readonly signed: boolean
}

/** An issuer of tokens. The gateway validates the tokens by signature, by introspection, or by both methods. */
export type IssuerConfig = {
  readonly issuer: string
  /** CA certificates for connections to the issuer, in PEM. Undefined: the public CA certificates. */
  readonly ca: string | undefined
  readonly jwt: JwtConfig | undefined
  readonly introspection: IntrospectionConfig | undefined
  /**
   * While the issuer cannot respond, the gateway uses an introspection result for this time after the cache time. 0:
   * the gateway never uses a result after the cache time. Milliseconds.
   */
  readonly staleIfErrorMs: number
  /** URL of the issuer's revocation stream. Undefined: the issuer has no such stream. */
  readonly revocations: string | undefined
  /**
   * The issuer may send Security Event Tokens (RFC 8935) with one of these values of `aud`. Undefined: the issuer may
   * not send Security Event Tokens.
   */
  readonly securityEvents?: { readonly audience: readonly string[] } | undefined
}
