import { Registry } from 'prom-client'
import t from 'tap'
import { createTokenMeter } from '../../../gateway/observability/token-meter.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('the token metrics count each kind of token, cache hits and cache misses separately', async (t) => {
  const registry = new Registry()
  const entries = { jwt: 1, opaque: 2 }
  const meter = createTokenMeter([registry], () => entries)
  meter.hit('jwt')
  for (let count = 0; count < 2; count += 1) meter.hit('opaque')
  for (let count = 0; count < 3; count += 1) meter.miss('jwt')
  for (let count = 0; count < 4; count += 1) meter.miss('opaque')
  meter.validated('jwt', 'hit', 5)
  meter.validated('jwt', 'miss', 6)
  meter.validated('opaque', 'hit', 7)
  meter.validated('opaque', 'miss', 8)
  t.strictSame(await seriesOf(registry, 'scopegate_token_cache_hits_total'), [
    '{kind="jwt"} 1',
    '{kind="opaque"} 2',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_token_cache_misses_total'), [
    '{kind="jwt"} 3',
    '{kind="opaque"} 4',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_token_validation_duration_seconds_sum'), [
    '{kind="jwt",cache="hit"} 5',
    '{kind="jwt",cache="miss"} 6',
    '{kind="opaque",cache="hit"} 7',
    '{kind="opaque",cache="miss"} 8',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_token_cache_entries'), [
    '{kind="jwt"} 1',
    '{kind="opaque"} 2',
  ])
  entries.jwt = 0
  t.strictSame(await seriesOf(registry, 'scopegate_token_cache_entries'), [
    '{kind="jwt"} 0',
    '{kind="opaque"} 2',
  ])
})
