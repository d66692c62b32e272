import { Gauge, type Registry } from 'prom-client'
import { TalliedCounter } from './tallied-counter.ts'
import { TalliedHistogram } from './tallied-histogram.ts'

/** Counts how it became known who tokens belong to. */
export type TokenMeter = {
  hit(): void
  miss(): void
  validated(cache: 'hit' | 'miss', seconds: number): void
}

/** A cached token takes microseconds, an introspection milliseconds. Seconds. */
const TOKEN_BUCKETS = [0.000_01, 0.000_1, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Registers the metrics of tokens; `cacheEntries` is asked whenever they are read. */
export function createTokenMeter(registers: [Registry], cacheEntries: () => number): TokenMeter {
  const kind = 'opaque'
  const hits = new TalliedCounter({
    name: 'scopegate_token_cache_hits_total',
    help: 'Tokens whose verdict was known.',
    labelNames: ['kind'],
    registers,
  }).child({ kind })
  const misses = new TalliedCounter({
    name: 'scopegate_token_cache_misses_total',
    help: 'Tokens that the issuer was asked about.',
    labelNames: ['kind'],
    registers,
  }).child({ kind })
  const validations = new TalliedHistogram<'kind' | 'cache'>({
    name: 'scopegate_token_validation_duration_seconds',
    help: 'Time to know who a token belongs to.',
    buckets: TOKEN_BUCKETS,
    registers,
  })
  const validated = {
    hit: validations.child({ kind, cache: 'hit' }),
    miss: validations.child({ kind, cache: 'miss' }),
  }
  new Gauge({
    name: 'scopegate_token_cache_entries',
    help: 'Verdicts that are remembered.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.set({ kind }, cacheEntries())
    },
  })
  return {
    hit: () => hits.inc(),
    miss: () => misses.inc(),
    validated: (cache, seconds) => validated[cache].observe(seconds),
  }
}
