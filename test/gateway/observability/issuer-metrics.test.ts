import { Registry } from 'prom-client'
import t from 'tap'
import { createIssuerMeters, type MeteredIssuer } from '../../../gateway/observability/issuer-metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test(
  'the gauges of an issuer show exactly its keys, its introspection load and its stale uses',
  async (t) => {
    const none = { keys: undefined, introspector: undefined, stale: undefined }
    const issuers: MeteredIssuer[] = [
      { issuer: 'neither', ...none },
      { issuer: 'no keys yet', ...none, keys: { confirmedAtMs: undefined, size: 0 } },
      { issuer: 'keys', ...none, keys: { confirmedAtMs: 1_500, size: 2 } },
      { issuer: 'introspection', ...none, introspector: { load: { working: 3, waiting: 4 } } },
      { issuer: 'stale', ...none, stale: { isActive: true } },
      { issuer: 'not stale', ...none, stale: { isActive: false } },
    ]
    const registry = new Registry()
    createIssuerMeters([registry], () => issuers)
    t.strictSame(await seriesOf(registry, 'scopegate_jwks_last_success_timestamp_seconds'), [
      '{issuer="keys"} 1.5',
    ])
    t.strictSame(await seriesOf(registry, 'scopegate_jwks_keys'), [
      '{issuer="no keys yet"} 0',
      '{issuer="keys"} 2',
    ])
    t.strictSame(await seriesOf(registry, 'scopegate_introspections_in_flight'), [
      '{issuer="introspection",state="working"} 3',
      '{issuer="introspection",state="waiting"} 4',
    ])
    t.strictSame(await seriesOf(registry, 'scopegate_token_stale_active'), [
      '{issuer="stale"} 1',
      '{issuer="not stale"} 0',
    ])
  },
)

t.test('the meter of an issuer counts each kind of result in a separate series', async (t) => {
  const registry = new Registry()
  const meterOf = createIssuerMeters([registry], () => [])
  const [a, b] = [meterOf('a'), meterOf('b')]
  a.introspected('answered')
  a.introspected('answered')
  a.introspected('ERR_INTROSPECTION_STATUS')
  b.introspected('answered')
  a.sharedLookUp('hit')
  a.sharedLookUp('hit')
  a.sharedLookUp('miss')
  b.sharedLookUp('hit')
  a.staleUsed()
  a.staleUsed()
  b.staleUsed()
  a.refreshed('ok')
  a.refreshed('ok')
  a.dropped('too_many')
  a.dropped('too_many')
  t.strictSame(await seriesOf(registry, 'scopegate_introspections_total'), [
    '{issuer="a",result="answered"} 2',
    '{issuer="a",result="status"} 1',
    '{issuer="b",result="answered"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_token_shared_cache_total'), [
    '{issuer="a",result="hit"} 2',
    '{issuer="a",result="miss"} 1',
    '{issuer="b",result="hit"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_token_stale_uses_total'), [
    '{issuer="a"} 2',
    '{issuer="b"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_jwks_refresh_total'), ['{issuer="a",result="ok"} 2'])
  t.strictSame(await seriesOf(registry, 'scopegate_jwks_keys_dropped_total'), [
    '{issuer="a",reason="too_many"} 2',
  ])
})
