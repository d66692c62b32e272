import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { DrainConfig } from '../../platform/config/drain-schema.ts'
import type { ConsoleAddress } from '../../platform/config/listen-address.ts'
import type { LogConfig } from '../../platform/logging/log-schema.ts'
import type { RedisConnection } from '../../platform/redis/redis-connection.ts'
import type { TracingConfig } from '../../platform/tracing/tracing-schema.ts'
import type { Presets } from '../../policy-engine/format/presets.ts'
import type { PolicySource } from '../../policy-engine/load/source-permissions.ts'
import type { ResourceSettings } from '../../policy-engine/match/resources.ts'
import type { OverloadLimits } from '../limits/overload/overload-level.ts'
import type { CertificateHeader } from '../tokens/binding/client-certificate.ts'
import type { IssuerConfig } from '../tokens/issuer-config.ts'
import type { UpstreamSettings } from '../upstreams/upstream.ts'

/**
 * How an ingress asks for a decision. `auth-request`: the module of nginx, which accepts only 2xx, 401 and 403.
 * `forward-auth`: HAProxy, Apache, Caddy and Traefik, which return any other response to the client. `ext-authz-http` and
 * `ext-authz-grpc`: the filter of Envoy.
 */
export type DecisionProtocol = 'auth-request' | 'forward-auth' | 'ext-authz-http' | 'ext-authz-grpc'

export type TlsConfig = {
  /** Certificate chain in PEM, leaf first. The gateway reloads the file when the file changes. */
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Whether the public port offers HTTP/2 in addition to HTTP/1.1. */
  readonly http2: boolean
  /**
   * Set if the gateway requests client certificates. `ca`: trusted CA certificates in PEM; `undefined`: any certificate
   * whose private key the client holds.
   */
  readonly clientCertificates: { readonly ca: string | undefined } | undefined
}

export type DecisionHeaders = {
  readonly method?: string
  readonly target?: string
  readonly clientAddress?: `x-${string}`
}

/**
 * Validated configuration of the gateway. Durations and sizes are numbers, paths are absolute, and secrets are loaded.
 */
export type GatewayConfig = {
  /** Public URL, without a trailing slash. Never taken from a request. */
  readonly baseUrl: string
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly management: ConsoleAddress
  /** The decision endpoint for another ingress. Undefined: off. */
  readonly decisions?:
    | {
        readonly listen: { readonly host: string; readonly port: number }
        readonly protocol: DecisionProtocol
        /** Names of the headers with the original request, in lower case. Default: the names of the protocol. */
        readonly headers?: DecisionHeaders | undefined
      }
    | undefined
  /** TLS on the public port; `undefined`: plain HTTP behind a proxy that terminates TLS. */
  readonly tls: TlsConfig | undefined
  /** Address blocks of the trusted proxies. The gateway uses the client address header of these proxies only. */
  readonly trustedProxies: readonly string[]
  /** The only header from which the gateway reads the client address. Trusted proxies set this header. */
  readonly forwardedHeader: 'x-forwarded-for' | 'forwarded'
  /** The header in which trusted proxies send the client certificate; if undefined, the gateway reads no header. */
  readonly clientCertificateHeader: CertificateHeader | undefined
  /** Number of processes that serve requests. 1: this process only. */
  readonly workers: number
  readonly drain: DrainConfig
  /** The folder of all policies. An empty string if `policySources` is set. */
  readonly policiesDir: string
  /** Policy sources: folders with owners and permissions. Empty: `policiesDir` contains all policies. */
  readonly policySources: readonly PolicySource[]
  /**
   * Effect of an invalid policy source. `keep`: only the routes of this source are affected. `fail`: the start or the
   * reload fails.
   */
  readonly onInvalidPolicy: 'keep' | 'fail'
  /** `watch`: the gateway reloads changed policies automatically. `manual`: the gateway reloads policies on request. */
  readonly policyReload: 'watch' | 'manual'
  /** The scope catalogue at start. A reload of the policies may replace the catalogue. */
  readonly catalogue: ScopeCatalogue
  /** The file is reloaded with the policies; `undefined`: `catalogue` never changes. */
  readonly scopesFile: string | undefined
  readonly presets: Presets
  /** The file is reloaded with the policies; `undefined`: `presets` never change. */
  readonly presetsFile: string | undefined
  readonly upstreams: readonly UpstreamSettings[]
  /** At least one issuer. Each issuer URL occurs once. */
  readonly issuers: readonly IssuerConfig[]
  /** Parts of the API that need separate tokens, and settings of the whole API. */
  readonly resources: readonly ResourceSettings[]
  /**
   * Folder for cached keys of issuers and for valid versions of policy sources; if undefined, the gateway stores
   * nothing.
   */
  readonly dataDir: string | undefined
  /** Upstream of the bundled authorization server; `undefined`: all tokens come from other issuers. */
  readonly authorizationServer: { readonly upstream: string } | undefined
  /** Compatibility with clients that deviate from the standards. */
  readonly compat: {
    /**
     * Whether the gateway also serves the metadata of the bundled authorization server below the paths of resources.
     */
    readonly resourcePathAliases: boolean
  }
  /** Settings of `upstreamAuth: assertion`, which sends the caller's identity to upstreams. */
  readonly assertion: {
    /** File with private keys in PEM; `undefined`: the gateway generates a key at start and does not store this key. */
    readonly keyFile: string | undefined
    readonly ttlSeconds: number
  }
  /** Claims of the token that upstreams get. */
  readonly identity: { readonly claims: readonly string[] }
  readonly tokenCache: {
    readonly maxEntries: number
    readonly maxBytes: number
    /** Whether introspection results are shared with the other gateways on the same Redis. */
    readonly shared: boolean
    readonly maxTtlMs: number
    /** Maximum lifetime of an entry while the revocation stream of the issuer is down. Milliseconds. */
    readonly ttlWithoutPushMs: number
    readonly negativeTtlMs: number
  }
  readonly dpop: {
    /** The secrets for DPoP nonces, newest first. Undefined: proofs need no nonce. */
    readonly nonceSecrets: readonly string[] | undefined
    /** The file of the secrets. Undefined: the secrets do not change. */
    readonly nonceSecretFile?: string | undefined
  }
  readonly limits: {
    /** Default limit for request bodies. Routes may override this limit. */
    readonly bodyBytes: number
    readonly headersBytes: number
    readonly targetBytes: number
    readonly tokenBytes: number
    /** Maximum number of concurrent client connections of all workers together. */
    readonly connections: number
  }
  readonly overload: OverloadLimits
  /** The Redis for state that processes share; `undefined`: each process has separate state. */
  readonly redis: RedisConnection | undefined
  /** The Redis in which authorization servers publish revocations; `undefined`: `redis`. */
  readonly revocationRedis: RedisConnection | undefined
  readonly websockets: { readonly maxSessions: number; readonly maxSessionsPerCaller: number }
  /** The pages for developers on the public port. */
  readonly docs: {
    readonly enabled: boolean
    /** The client of the API reference. Undefined: persons use their own tokens. */
    readonly clientId: string | undefined
  }
  readonly debug: {
    /** Adds a header with the policy version to every response. */
    readonly policyHeader: boolean
  }
  readonly log: LogConfig & { readonly subject: 'hashed' | 'plain' }
  /** Undefined: only the environment configures tracing. */
  readonly tracing: TracingConfig | undefined
}
