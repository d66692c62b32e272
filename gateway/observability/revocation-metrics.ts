import { Counter, Gauge, type Registry } from 'prom-client'

export type RevocationMeter = {
  revocations(count: number): void
  /** Counts a revocation gap, which cleared the token cache. */
  revocationsMissed(): void
}

/** An issuer with a revocation channel, and the state of the channel. */
export type ChannelState = { readonly issuer: string; readonly isConnected: boolean }

/** Registers the metrics of revocations. `states` is called on each scrape. */
export function createRevocationMeter(
  registers: [Registry],
  states: () => readonly ChannelState[],
): RevocationMeter {
  new Gauge({
    name: 'scopegate_revocation_channel_up',
    aggregator: 'min', // 0 while it is down in one worker
    help: '1 while the revocation channel of the issuer is connected; while it is 0, tokenCache.ttlWithoutPush applies.',
    labelNames: ['issuer'],
    registers,
    collect() {
      this.reset() // removes issuers that no longer have a channel
      for (const { issuer, isConnected } of states()) this.set({ issuer }, isConnected ? 1 : 0)
    },
  })
  const received = new Counter({
    name: 'scopegate_revocations_received_total',
    help: 'Received revocations; a revocation on two channels counts twice.',
    registers,
  })
  const missed = new Counter({
    name: 'scopegate_revocation_gaps_total',
    help: 'Revocation gaps that cleared the token cache; one at each start.',
    registers,
  })
  return {
    revocations: (count) => received.inc(count),
    revocationsMissed: () => missed.inc(),
  }
}
