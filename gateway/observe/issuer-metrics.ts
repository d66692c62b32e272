import { Counter, Gauge, type Registry } from 'prom-client'
import type { IssuerKeys, IssuerKeysMeter } from '../identity/jwt/issuer-keys.ts'

/** An issuer, as far as metrics are concerned. */
export type MeteredIssuer = { readonly issuer: string; readonly keys: IssuerKeys | undefined }

/** Registers what is counted of issuers' keys. Issuers are those of the configuration, so there are few. @returns the meter of each. */
export function createIssuerMeters(
  registers: [Registry],
  issuers: () => readonly MeteredIssuer[],
): (issuer: string) => IssuerKeysMeter {
  const refreshes = new Counter({
    name: 'scopegate_jwks_refresh_total',
    help: "Fetches of an issuer's keys.",
    labelNames: ['issuer', 'result'],
    registers,
  })
  const dropped = new Counter({
    name: 'scopegate_jwks_keys_dropped_total',
    help: 'Keys that an issuer published and that are not used, each time they are read.',
    labelNames: ['issuer', 'reason'],
    registers,
  })
  new Gauge({
    name: 'scopegate_jwks_last_success_timestamp_seconds',
    aggregator: 'min', // the worker that has waited longest
    help: "When an issuer's keys were last fetched.",
    labelNames: ['issuer'],
    registers,
    collect() {
      for (const { issuer, keys } of issuers())
        if (keys?.confirmedAtMs !== undefined) this.set({ issuer }, keys.confirmedAtMs / 1_000)
    },
  })
  new Gauge({
    name: 'scopegate_jwks_keys',
    aggregator: 'min',
    help: 'Keys of an issuer that are used.',
    labelNames: ['issuer'],
    registers,
    collect() {
      for (const { issuer, keys } of issuers()) if (keys !== undefined) this.set({ issuer }, keys.size)
    },
  })
  return (issuer) => ({
    refreshed: (result) => refreshes.inc({ issuer, result }),
    dropped: (reason) => dropped.inc({ issuer, reason }),
  })
}
