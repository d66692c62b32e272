import { availableParallelism } from 'node:os'
import type { ScopeCatalogue } from '../../oauth/scope-catalogue.ts'
import type { Presets } from '../../policy-engine/format/presets.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayConfig } from './gateway-config.ts'
import type { GatewayFile } from './gateway-file.ts'
import { toIssuerConfig } from './to-issuer-config.ts'
import { toLimits } from './to-limits.ts'
import { bytes, milliseconds } from './to-numbers.ts'
import { toOverloadLimits } from './to-overload-limits.ts'
import { toUpstreamSettings } from './to-upstream-settings.ts'
import type { UpstreamsFile } from './upstreams-file.ts'

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
    readonly nonceSecret: string | undefined
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
    policiesDir: file.policies,
    policyReload: file.policyReload ?? DEFAULTS.policyReload,
    scopesFile: file.scopes,
    catalogue: read.catalogue,
    presets: read.presets,
    presetsFile: file.presets,
    upstreams: Object.entries(read.upstreams).map(([name, upstream]) =>
      toUpstreamSettings(name, upstream, read.authorities.get(upstream.caFile ?? '')),
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
    tokenCache: {
      maxEntries: tokenCache.maxEntries,
      maxBytes: bytes(tokenCache.maxBytes),
      shared: tokenCache.shared,
      maxTtlMs: milliseconds(tokenCache.maxTtl),
      ttlWithoutPushMs: milliseconds(tokenCache.ttlWithoutPush),
      negativeTtlMs: milliseconds(tokenCache.negativeTtl),
    },
    dpop: { nonceSecret: read.nonceSecret },
    limits: toLimits(file.limits),
    overload: toOverloadLimits(file.overload),
    redis: file.redis,
    websockets: {
      maxSessions: file.websockets?.sessions ?? DEFAULTS.websockets.sessions,
      maxSessionsPerCaller: file.websockets?.sessionsPerCaller ?? DEFAULTS.websockets.sessionsPerCaller,
    },
    debug: { policyHeader: file.debug?.policyHeader ?? false },
    log: { level: file.log?.level ?? DEFAULTS.logLevel, subject: file.log?.subject ?? 'hashed' },
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
    ...tls,
    clientCertificates:
      clientCertificates?.request === true
        ? { ca: authorities.get(clientCertificates.caFile ?? '') }
        : undefined,
  }
}
