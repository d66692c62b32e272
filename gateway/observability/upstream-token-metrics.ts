import { Counter, Gauge, type Registry } from 'prom-client'
import type { TokenFailure } from '../upstreams/credentials/token-client.ts'

/** Metrics of the tokens for one upstream. */
export type UpstreamTokenMeter = {
  requested(result: 'ok' | TokenFailure): void
  /** Milliseconds since the epoch. */
  expiresAt(timeMs: number): void
}

/** Registers the metrics of tokens for upstreams. @returns a function that creates the meter of an upstream. */
export function createUpstreamTokenMeters(registry: Registry): (upstream: string) => UpstreamTokenMeter {
  const registers = [registry]
  const requests = new Counter({
    name: 'scopegate_upstream_token_requests_total',
    help: 'Requests for a token for an upstream, by result.',
    labelNames: ['upstream', 'result'],
    registers,
  })
  const expiries = new Gauge({
    name: 'scopegate_upstream_token_expiry_seconds',
    help: 'Expiry time of the token for an upstream in seconds since 1970; 0 before the first token.',
    labelNames: ['upstream'],
    registers,
  })
  return (upstream) => {
    requests.inc({ upstream, result: 'ok' }, 0)
    expiries.set({ upstream }, 0)
    return {
      requested: (result) => requests.inc({ upstream, result }),
      expiresAt: (timeMs) => expiries.set({ upstream }, Math.floor(timeMs / 1_000)),
    }
  }
}
