import type { ScopeCatalogue } from '../../oauth/scope-catalogue.ts'
import type { DrainConfig } from '../../platform/config/drain-schema.ts'
import type { ManagementAddress } from '../../platform/config/management-address.ts'
import type { Presets } from '../../policy-engine/format/presets.ts'
import type { ResourceSettings } from '../../policy-engine/match/resources.ts'
import type { OverloadLimits } from '../limits/overload/overload-level.ts'
import type { CertificateHeader } from '../tokens/binding/read-certificate-header.ts'
import type { IssuerConfig } from '../tokens/issuer-config.ts'
import type { UpstreamSettings } from '../upstreams/pool.ts'

/** What the public port shows clients that speak TLS. */
export type TlsConfig = {
  /** PEM, the certificate itself first; read again when it changes. */
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Clients are asked for a certificate; `ca` in PEM, undefined: who holds its key is believed. */
  readonly clientCertificates: { readonly ca: string | undefined } | undefined
}

/** What the gateway runs with: durations and sizes already numbers, paths absolute, secrets read. */
export type GatewayConfig = {
  /** The public address, without a trailing slash. Never taken from a request. */
  readonly baseUrl: string
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly management: ManagementAddress
  /** The public port speaks TLS; undefined: plain HTTP, behind something that does. */
  readonly tls: TlsConfig | undefined
  /** Peers that are believed about the client's address: blocks of addresses. */
  readonly trustedProxies: readonly string[]
  /** The one header in which they name it. */
  readonly forwardedHeader: 'x-forwarded-for' | 'forwarded'
  /** How they name the client's certificate; undefined: they do not. */
  readonly clientCertificateHeader: CertificateHeader | undefined
  /** Processes that serve. 1: this one alone. */
  readonly workers: number
  readonly drain: DrainConfig
  readonly policiesDir: string
  /** `watch`: policies that change come into force by themselves; `manual`: when somebody asks. */
  readonly policyReload: 'watch' | 'manual'
  /** What the process starts with; policies that come into force later bring their own. */
  readonly catalogue: ScopeCatalogue
  /** Read again with the policies; undefined: `catalogue` stays. */
  readonly scopesFile: string | undefined
  /** What policies may extend when the process starts. */
  readonly presets: Presets
  /** Read again with the policies; undefined: `presets` stay. */
  readonly presetsFile: string | undefined
  readonly upstreams: readonly UpstreamSettings[]
  /** At least one; each has another issuer URL. */
  readonly issuers: readonly IssuerConfig[]
  /** Parts of the API that tokens are for on their own, and what is said about all of it. */
  readonly resources: readonly ResourceSettings[]
  /** Where copies of issuers' keys are kept; undefined: nowhere. */
  readonly dataDir: string | undefined
  /** Upstream of the bundled authorization server; undefined when somebody else issues the tokens. */
  readonly authorizationServer: { readonly upstream: string } | undefined
  /** What is there for clients that do not go by the book. */
  readonly compat: {
    /** The bundled authorization server's metadata stands below the paths of resources too. */
    readonly resourcePathAliases: boolean
  }
  /** How upstreams are told who calls where a policy says `upstreamAuth: assertion`. */
  readonly assertion: {
    /** Private keys in PEM; undefined: generated, in this process only. */
    readonly keyFile: string | undefined
    readonly ttlSeconds: number
  }
  readonly tokenCache: {
    readonly maxEntries: number
    readonly maxBytes: number
    /** What was asked is told to the other gateways on the same Redis. */
    readonly shared: boolean
    readonly maxTtlMs: number
    /** While revocations of the issuer should arrive and do not. */
    readonly ttlWithoutPushMs: number
    readonly negativeTtlMs: number
  }
  /** The secret that nonces of DPoP proofs are made with; undefined: proofs need none. */
  readonly dpop: { readonly nonceSecret: string | undefined }
  readonly limits: {
    /** Where no route says otherwise. */
    readonly bodyBytes: number
    readonly headersBytes: number
    readonly targetBytes: number
    readonly tokenBytes: number
    /** Client connections at once, all workers together. */
    readonly connections: number
  }
  /** From where on connections end with their answers, and requests are refused. */
  readonly overload: OverloadLimits
  /** Shares rate limits among processes; undefined: each counts for itself. */
  readonly redis: { readonly url: string } | undefined
  readonly websockets: { readonly maxSessions: number; readonly maxSessionsPerCaller: number }
  /** What is only for finding out why something is as it is. */
  readonly debug: {
    /** Every answer names the policies that it was given by. */
    readonly policyHeader: boolean
  }
  readonly log: { readonly level: string; readonly subject: 'hashed' | 'plain' }
}
