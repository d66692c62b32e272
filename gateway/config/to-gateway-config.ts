import { availableParallelism } from 'node:os'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { toLogConfig } from '../../platform/logging/log-schema.ts'
import type { Presets } from '../../policy-engine/format/presets.ts'
import type { CertificateFiles } from '../server/tls/certificate-source.ts'
import type { IssuerConfig, JwtConfig } from '../tokens/issuer-config.ts'
import type { CredentialConfig } from '../upstreams/credentials/open-access.ts'
import type { UpstreamSettings } from '../upstreams/upstream.ts'
import { toDecisionHeaders } from './decision-headers.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayConfig } from './gateway-config.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { IssuerEntry } from './issuer-schema.ts'
import { toOverloadLimits } from './overload-file.ts'
import { bytes, milliseconds } from './to-numbers.ts'
import { addressesOf, type UpstreamEntry, type UpstreamsFile } from './upstreams-file.ts'
import { toPolicySources } from './validate-policy-sources.ts'

/** Converts validated files into the configuration: fills in defaults, converts units and freezes the object. */
export function toGatewayConfig(
  file: GatewayFile,
  read: {
    readonly catalogue: ScopeCatalogue
    readonly presets: Presets
    readonly upstreams: UpstreamsFile
    /** Content of each `caFile`, by path. */
    readonly authorities: ReadonlyMap<string, string>
    readonly clientSecrets: ReadonlyMap<string, string>
    /** The credentials of the gateway at upstreams, by upstream. */
    readonly credentials: ReadonlyMap<string, CredentialConfig>
    readonly nonceSecrets: readonly string[] | undefined
  },
): GatewayConfig {
  const tokenCache = { ...DEFAULTS.tokenCache, ...file.tokenCache }
  const drain = { ...DEFAULTS.drain, ...file.drain }
  return Object.freeze({
    baseUrl: file.baseUrl,
    name: file.name,
    listen: file.listen,
    management: file.management,
    tls: toTlsConfig(file.tls, read.authorities),
    trustedProxies: file.trustedProxies ?? [],
    forwardedHeader: file.forwardedHeader ?? 'x-forwarded-for',
    clientCertificateHeader: file.clientCertificateHeader,
    workers: file.workers === 'auto' ? availableParallelism() : (file.workers ?? 1),
    drain: { delayMs: milliseconds(drain.delay), graceMs: milliseconds(drain.grace) },
    policiesDir: file.policies ?? '',
    policySources: toPolicySources(file),
    decisions: file.decisions && { ...file.decisions, headers: toDecisionHeaders(file.decisions.headers) },
    onInvalidPolicy: file.onInvalidPolicy ?? (file.policySources === undefined ? 'fail' : 'keep'),
    policyReload: file.policyReload ?? DEFAULTS.policyReload,
    scopesFile: file.scopes,
    catalogue: read.catalogue,
    presets: read.presets,
    presetsFile: file.presets,
    upstreams: Object.entries(read.upstreams).map(([name, upstream]) =>
      toUpstreamSettings(name, upstream, {
        ca: read.authorities.get(upstream.caFile ?? ''),
        certificate: certificateOf(upstream),
        credentials: read.credentials.get(name),
      }),
    ),
    issuers: file.issuers.map((entry) =>
      toIssuerConfig(entry, {
        clientSecret: read.clientSecrets.get(entry.issuer),
        ca: read.authorities.get(entry.caFile ?? ''),
      }),
    ),
    resources: file.resources ?? [],
    dataDir: file.dataDir,
    authorizationServer: file.authorizationServer,
    compat: { resourcePathAliases: file.compat?.resourcePathAliases ?? false },
    assertion: {
      keyFile: file.assertion?.keyFile,
      ttlSeconds: milliseconds(file.assertion?.ttl ?? DEFAULTS.assertionTtl) / 1_000,
    },
    identity: { claims: Object.freeze([...(file.identity?.claims ?? [])].sort()) },
    tokenCache: {
      maxEntries: tokenCache.maxEntries,
      maxBytes: bytes(tokenCache.maxBytes),
      shared: tokenCache.shared,
      maxTtlMs: milliseconds(tokenCache.maxTtl),
      ttlWithoutPushMs: milliseconds(tokenCache.ttlWithoutPush),
      negativeTtlMs: milliseconds(tokenCache.negativeTtl),
    },
    dpop: { nonceSecrets: read.nonceSecrets, nonceSecretFile: file.dpop?.nonceSecretFile },
    limits: toLimits(file.limits),
    overload: toOverloadLimits(file.overload),
    redis: file.redis,
    revocationRedis: file.revocationRedis,
    websockets: {
      maxSessions: file.websockets?.sessions ?? DEFAULTS.websockets.sessions,
      maxSessionsPerCaller: file.websockets?.sessionsPerCaller ?? DEFAULTS.websockets.sessionsPerCaller,
    },
    docs: { enabled: file.docs?.enabled ?? DEFAULTS.docsEnabled, clientId: file.docs?.clientId },
    debug: { policyHeader: file.debug?.policyHeader ?? false },
    log: { ...toLogConfig(file.log), subject: file.log?.subject ?? 'hashed' },
    tracing: file.tracing,
  })
}

function toTlsConfig(
  tls: GatewayFile['tls'],
  authorities: ReadonlyMap<string, string>,
): GatewayConfig['tls'] {
  if (tls === undefined) return undefined
  const { clientCertificates } = tls
  return {
    minVersion: DEFAULTS.tlsMinVersion,
    http2: DEFAULTS.tlsHttp2,
    ...tls,
    clientCertificates:
      clientCertificates?.request === true
        ? { ca: authorities.get(clientCertificates.caFile ?? '') }
        : undefined,
  }
}

/** Converts a validated issuer entry. `read` contains the content of the files that the entry names. */
export function toIssuerConfig(
  entry: IssuerEntry,
  read: { readonly clientSecret: string | undefined; readonly ca: string | undefined },
): IssuerConfig {
  const { issuer, jwt, introspection, staleIfError, revocations, securityEvents } = entry
  return {
    issuer,
    ca: read.ca,
    jwt: jwt === undefined ? undefined : toJwtConfig(jwt),
    introspection:
      introspection === undefined
        ? undefined
        : {
            endpoint: introspection.endpoint,
            clientId: introspection.clientId,
            clientSecret: read.clientSecret ?? '',
            clientSecretFile: introspection.clientSecretFile,
            timeoutMs: milliseconds(introspection.timeout ?? DEFAULTS.introspection.timeout),
            maxConcurrent: introspection.maxConcurrent ?? DEFAULTS.introspection.maxConcurrent,
            maxQueue: introspection.maxQueue ?? DEFAULTS.introspection.maxQueue,
            ttlMs:
              introspection.ttl === undefined ? Number.POSITIVE_INFINITY : milliseconds(introspection.ttl),
            signed: introspection.signed ?? false,
          },
    staleIfErrorMs: milliseconds(staleIfError ?? DEFAULTS.staleIfError),
    revocations,
    securityEvents,
  }
}

function toJwtConfig(jwt: NonNullable<IssuerEntry['jwt']>): JwtConfig {
  const times = { ...DEFAULTS.jwt, ...jwt }
  const { uri, file } = jwt.keys ?? {}
  return {
    algorithms: times.algorithms,
    type: times.type,
    keys:
      uri !== undefined
        ? { by: 'uri', uri }
        : file !== undefined
          ? { by: 'file', file }
          : { by: 'discovery' },
    refreshMs: milliseconds(times.refresh),
    cooldownMs: milliseconds(times.cooldown),
    maxStaleMs: milliseconds(times.maxStale),
    timeoutMs: milliseconds(times.timeout),
    audience: jwt.audience ?? [],
    claims: { ...DEFAULTS.jwtClaims, ...jwt.claims },
    clockToleranceSeconds: milliseconds(times.clockTolerance) / 1_000,
    maxRevocationDelayMs:
      jwt.maxRevocationDelay === undefined ? undefined : milliseconds(jwt.maxRevocationDelay),
  }
}

/**
 * Converts an entry of config/upstreams.yaml or of the upstreams of a policy source: fills in defaults and converts
 * durations to milliseconds. `read` contains the content of the files that the entry names.
 */
export function toUpstreamSettings(
  name: string,
  upstream: UpstreamEntry,
  read: Pick<UpstreamSettings, 'ca' | 'certificate' | 'credentials'>,
): UpstreamSettings {
  const { weights } = upstream
  const isUsed = (_: unknown, index: number): boolean => weights?.[index] !== 0
  return {
    name,
    urls: addressesOf(upstream).filter(isUsed),
    isSrv: upstream.srv !== undefined,
    weights: weights?.filter(isUsed),
    timeoutMs: milliseconds(upstream.timeout ?? DEFAULTS.upstreamTimeout),
    connectTimeoutMs: milliseconds(upstream.connectTimeout ?? DEFAULTS.connectTimeout),
    idleTimeoutMs: milliseconds(upstream.idleTimeout ?? DEFAULTS.idleTimeout),
    ejection: {
      failures: upstream.ejection?.failures ?? DEFAULTS.ejection.failures,
      longestPauseMs: milliseconds(upstream.ejection?.for ?? DEFAULTS.ejection.for),
    },
    connections: {
      max: upstream.maxConnections ?? Number.POSITIVE_INFINITY,
      maxPending: upstream.maxPendingRequests ?? DEFAULTS.upstreamConnections.maxPendingRequests,
      queueTimeoutMs: milliseconds(upstream.queueTimeout ?? DEFAULTS.upstreamConnections.queueTimeout),
    },
    healthCheck: upstream.healthCheck && toHealthCheck(upstream.healthCheck),
    openapiPath: upstream.openapi,
    ...read,
    policySource: undefined,
  }
}

function toHealthCheck(entry: NonNullable<UpstreamEntry['healthCheck']>): UpstreamSettings['healthCheck'] {
  const { path, statuses, ...others } = entry
  const { interval, timeout, unhealthyAfter, healthyAfter } = { ...DEFAULTS.healthCheck, ...others }
  return {
    path,
    intervalMs: milliseconds(interval),
    timeoutMs: milliseconds(timeout),
    unhealthyAfter,
    healthyAfter,
    statuses,
  }
}

/** Returns the files of the client certificate. Undefined unless the upstream has both files. */
export function certificateOf({ certFile, keyFile }: UpstreamEntry): CertificateFiles | undefined {
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }
}

/** Converts `limits` of gateway.yaml to bytes, with the defaults filled in. */
export function toLimits(file: GatewayFile['limits']): GatewayConfig['limits'] {
  const limits = { ...DEFAULTS.limits, ...file }
  return {
    bodyBytes: bytes(limits.body),
    headersBytes: bytes(limits.headers),
    targetBytes: bytes(limits.target),
    tokenBytes: bytes(limits.token),
    connections: limits.connections,
  }
}
