import { Counter, Gauge, type Registry } from 'prom-client'
import type { SharedLookupResult } from '../tokens/cache/shared-cache.ts'
import type { Introspector } from '../tokens/introspection/introspect.ts'
import type { IntrospectionOutcome } from '../tokens/introspection/introspection-client.ts'
import type { IssuerMeter } from '../tokens/issuer-meter.ts'
import type { IssuerKeys } from '../tokens/jwt/issuer-keys.ts'
import { BufferedCounter } from './buffered-counter.ts'
import { memoize } from './memoize.ts'

export type MeteredIssuer = {
  readonly issuer: string
  readonly keys: Pick<IssuerKeys, 'confirmedAtMs' | 'size'> | undefined
  readonly introspector: Pick<Introspector, 'load'> | undefined
  readonly stale: { readonly isActive: boolean } | undefined
}

/**
 * Registers the metrics of issuers. The configuration defines the issuers, so there are few label values.
 * @returns a function that creates the meter of an issuer.
 */
export function createIssuerMeters(
  registers: [Registry],
  issuers: () => readonly MeteredIssuer[],
): (issuer: string) => IssuerMeter {
  const refreshes = new Counter({
    name: 'scopegate_jwks_refresh_total',
    help: "Fetches of an issuer's keys.",
    labelNames: ['issuer', 'result'],
    registers,
  })
  const dropped = new Counter({
    name: 'scopegate_jwks_keys_dropped_total',
    help: 'Published keys of an issuer that the gateway ignores, counted on each fetch.',
    labelNames: ['issuer', 'reason'],
    registers,
  })
  new Gauge({
    name: 'scopegate_jwks_last_success_timestamp_seconds',
    help: "Time of the last successful fetch of an issuer's keys.",
    labelNames: ['issuer'],
    registers,
    collect() {
      for (const { issuer, keys } of issuers())
        if (keys?.confirmedAtMs !== undefined) this.set({ issuer }, keys.confirmedAtMs / 1_000)
    },
  })
  new Gauge({
    name: 'scopegate_jwks_keys',
    help: 'Accepted keys of an issuer.',
    labelNames: ['issuer'],
    registers,
    collect() {
      for (const { issuer, keys } of issuers()) if (keys !== undefined) this.set({ issuer }, keys.size)
    },
  })
  const introspections = new BufferedCounter({
    name: 'scopegate_introspections_total',
    help: 'Introspection requests, by result.',
    labelNames: ['issuer', 'result'],
    registers,
  })
  new Gauge({
    name: 'scopegate_introspections_in_flight',
    help: 'Introspection requests in progress and queued.',
    labelNames: ['issuer', 'state'],
    registers,
    collect() {
      for (const { issuer, introspector } of issuers()) {
        if (introspector === undefined) continue
        this.set({ issuer, state: 'working' }, introspector.load.working)
        this.set({ issuer, state: 'waiting' }, introspector.load.waiting)
      }
    },
  })
  const introspected = memoize((issuer: string) => {
    const child = memoize((result: IntrospectionOutcome) =>
      introspections.child({ issuer, result: result.replace('ERR_INTROSPECTION_', '').toLowerCase() }),
    )
    return (result: IntrospectionOutcome) => child(result).inc()
  })
  const lookUps = new BufferedCounter({
    name: 'scopegate_token_shared_cache_total',
    help: 'Lookups in the shared token cache in Redis, by result.',
    labelNames: ['issuer', 'result'],
    registers,
  })
  const sharedLookUp = memoize((issuer: string) => {
    const child = memoize((result: SharedLookupResult) => lookUps.child({ issuer, result }))
    return (result: SharedLookupResult) => child(result).inc()
  })
  const staleUses = new BufferedCounter({
    name: 'scopegate_token_stale_uses_total',
    help: 'Uses of tokens that the gateway accepted by an earlier check because the issuer did not respond.',
    labelNames: ['issuer'],
    registers,
  })
  const staleUsed = memoize((issuer: string) => staleUses.child({ issuer }))
  new Gauge({
    name: 'scopegate_token_stale_active',
    help: '1 while the gateway accepts tokens of the issuer by an earlier check because the issuer does not respond.',
    labelNames: ['issuer'],
    registers,
    collect() {
      for (const { issuer, stale } of issuers())
        if (stale !== undefined) this.set({ issuer }, stale.isActive ? 1 : 0)
    },
  })
  return (issuer) => ({
    introspected: introspected(issuer),
    staleUsed: () => staleUsed(issuer).inc(),
    sharedLookUp: sharedLookUp(issuer),
    refreshed: (result) => refreshes.inc({ issuer, result }),
    dropped: (reason) => dropped.inc({ issuer, reason }),
  })
}
