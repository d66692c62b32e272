import type { IssuerConfig, JwtConfig } from '../tokens/issuer-config.ts'
import { DEFAULTS } from './defaults.ts'
import type { IssuerEntry } from './issuer-schema.ts'
import { milliseconds } from './to-numbers.ts'

/** Converts a validated issuer entry. `read` contains the content of the files that the entry names. */
export function toIssuerConfig(
  entry: IssuerEntry,
  read: { readonly clientSecret: string | undefined; readonly ca: string | undefined },
): IssuerConfig {
  const { issuer, jwt, introspection, revocations, securityEvents } = entry
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
            timeoutMs: milliseconds(introspection.timeout ?? DEFAULTS.introspection.timeout),
            maxConcurrent: introspection.maxConcurrent ?? DEFAULTS.introspection.maxConcurrent,
            maxQueue: introspection.maxQueue ?? DEFAULTS.introspection.maxQueue,
            ttlMs:
              introspection.ttl === undefined ? Number.POSITIVE_INFINITY : milliseconds(introspection.ttl),
            signed: introspection.signed ?? false,
          },
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
  }
}
