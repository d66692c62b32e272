import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts what was heard of revocations. */
export type RevocationMeter = {
  /** Counts revocations that arrived. */
  revocations(count: number): void
  /** Counts a gap: everything that was known of tokens was forgotten. */
  revocationsMissed(): void
}

/** An issuer whose revocations should arrive, and whether they do. */
export type HeardIssuer = { readonly issuer: string; readonly isHeard: boolean }

/** Registers the metrics of revocations; `issuers` is asked whenever they are read. */
export function createRevocationMeter(
  registers: [Registry],
  issuers: () => readonly HeardIssuer[],
): RevocationMeter {
  new Gauge({
    name: 'scopegate_revocation_channel_up',
    aggregator: 'min', // the worker that hears least
    help: '1 while revocations of the issuer arrive; 0: verdicts live for tokenCache.ttlWithoutPush only.',
    labelNames: ['issuer'],
    registers,
    collect() {
      this.reset() // one of whom nothing is expected any longer has no channel that is down
      for (const { issuer, isHeard } of issuers()) this.set({ issuer }, isHeard ? 1 : 0)
    },
  })
  const received = new Counter({
    name: 'scopegate_revocations_received_total',
    help: 'Revocations that arrived, those that came on two ways twice.',
    registers,
  })
  const missed = new Counter({
    name: 'scopegate_revocation_gaps_total',
    help: 'Times when revocations may have been missed and everything known of tokens was forgotten; once at each start.',
    registers,
  })
  return {
    revocations: (count) => received.inc(count),
    revocationsMissed: () => missed.inc(),
  }
}
