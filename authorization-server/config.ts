import type { ScopeCatalogue } from '../oauth/scope-catalogue.ts'

/** A client that the operator vouches for, with fixed callbacks. Source: seed-interface section 5.4. */
export type Integration = {
  readonly clientId: string
  readonly clientName: string
  readonly redirectUris: readonly string[]
  /** Absent: a public client (`none`); present: `client_secret_post`. */
  readonly clientSecretFile: string | undefined
}

/** What the authorization server runs with: durations and sizes already numbers, paths absolute. */
export type AuthorizationServerConfig = {
  /** The public address, without a trailing slash. Never taken from a request. */
  readonly issuer: string
  /** The service's name on the pages. */
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly management: { readonly host: string; readonly port: number }
  readonly catalogue: ScopeCatalogue
  /** SQLite file and generated keys live here. */
  readonly dataDir: string
  readonly store: { readonly type: 'sqlite' | 'redis' }
  readonly redis: { readonly url: string } | undefined
  /** JWK Set with private keys; undefined: generated once in `dataDir`. */
  readonly signingKeysFile: string | undefined
  /** One cookie key per line, newest first; undefined: generated once in `dataDir`. */
  readonly cookieKeysFile: string | undefined
  /** The introspecting gateway. */
  readonly gatewayClient: { readonly id: string; readonly secretFile: string }
  /** True: alice/alice and bob/bob exist and a missing gateway secret is generated. */
  readonly development: boolean
  readonly lifetimes: {
    readonly codeSeconds: number
    readonly accessTokenSeconds: number
    /** Sliding: counted from the last refresh. */
    readonly refreshTokenSeconds: number
    /** In all: counted from the sign-in's consent. */
    readonly refreshTokenMaxSeconds: number
    readonly sessionSeconds: number
  }
  readonly registration: {
    /** Loopback hosts accepted in redirect URIs; `127.0.0.1` only unless the operator widens it. */
    readonly loopbackHosts: readonly string[]
    readonly bodyLimitBytes: number
  }
  readonly integrations: readonly Integration[]
  readonly log: { readonly level: string }
}
