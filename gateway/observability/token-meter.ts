import { Gauge, type Registry } from 'prom-client'
import { BufferedHistogram } from '../../platform/ops/buffered-histogram.ts'
import type { TokenKind } from '../tokens/cache/token-kind.ts'
import { BufferedCounter } from './buffered-counter.ts'

export type TokenMeter = {
  hit(kind: TokenKind): void
  miss(kind: TokenKind): void
  validated(kind: TokenKind, cache: 'hit' | 'miss', seconds: number): void
}

/** Buckets in seconds: a cache hit takes microseconds, an introspection milliseconds. */
const TOKEN_BUCKETS = [0.000_01, 0.000_1, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Registers the metrics of tokens. Each scrape calls `cacheEntries`. */
export function createTokenMeter(
  registers: [Registry],
  cacheEntries: () => Readonly<Record<TokenKind, number>>,
): TokenMeter {
  const hits = new BufferedCounter({
    name: 'scopegate_token_cache_hits_total',
    help: 'Token cache hits.',
    labelNames: ['kind'],
    registers,
  })
  const misses = new BufferedCounter({
    name: 'scopegate_token_cache_misses_total',
    help: 'Token cache misses.',
    labelNames: ['kind'],
    registers,
  })
  const validations = new BufferedHistogram<'kind' | 'cache'>({
    name: 'scopegate_token_validation_duration_seconds',
    help: 'Time to validate a token.',
    buckets: TOKEN_BUCKETS,
    registers,
  })
  const ofKind = (kind: TokenKind) => ({
    hits: hits.child({ kind }),
    misses: misses.child({ kind }),
    validated: {
      hit: validations.child({ kind, cache: 'hit' }),
      miss: validations.child({ kind, cache: 'miss' }),
    },
  })
  const children = { jwt: ofKind('jwt'), opaque: ofKind('opaque') }
  new Gauge({
    name: 'scopegate_token_cache_entries',
    help: 'Entries of the token cache.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, entries] of Object.entries(cacheEntries())) this.set({ kind }, entries)
    },
  })
  return {
    hit: (kind) => children[kind].hits.inc(),
    miss: (kind) => children[kind].misses.inc(),
    validated: (kind, cache, seconds) => children[kind].validated[cache].observe(seconds),
  }
}
