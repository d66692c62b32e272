import { UnverifiableError } from './unverifiable-error.ts'

/** Why nobody can say whether a token is good. */
export type IntrospectionErrorCode =
  /** No complete answer within the deadline. */
  | 'ERR_INTROSPECTION_TIMEOUT'
  /** No connection to the issuer, or it broke. */
  | 'ERR_INTROSPECTION_CONNECTION'
  /** The issuer refused the gateway's own client credentials. */
  | 'ERR_INTROSPECTION_CREDENTIALS'
  /** Another status than 200. Redirects are not followed. */
  | 'ERR_INTROSPECTION_STATUS'
  /** Not a JSON object that follows RFC 7662, or more than 64 KiB. */
  | 'ERR_INTROSPECTION_RESPONSE'
  /** Too many tokens are being asked about already. */
  | 'ERR_INTROSPECTION_OVERLOAD'

/** An issuer that gave no answer. The message holds no token. */
export class IntrospectionError extends UnverifiableError {
  readonly code: IntrospectionErrorCode

  constructor(code: IntrospectionErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'IntrospectionError'
    this.code = code
  }
}
