import { Registry } from 'prom-client'
import t from 'tap'
import { createTlsMetrics } from '../../../gateway/observability/tls-metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('the TLS metrics show the current certificate and count reloads and failed handshakes', async (t) => {
  let expiresAtMs = 11_999
  const registry = new Registry()
  const meter = createTlsMetrics(registry, () => ({ expiresAtMs }))
  t.strictSame(await seriesOf(registry, 'scopegate_tls_certificate_expiry_seconds'), ['11'])
  expiresAtMs = 12_000
  t.strictSame(await seriesOf(registry, 'scopegate_tls_certificate_expiry_seconds'), ['12'])
  t.strictSame(await seriesOf(registry, 'scopegate_tls_certificate_reloads_total'), [
    '{result="success"} 0',
    '{result="failure"} 0',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_tls_handshake_failures_total'), [])
  meter.reloaded('success')
  meter.reloaded('failure')
  meter.reloaded('failure')
  meter.handshakeFailed('timeout')
  meter.handshakeFailed('version')
  meter.handshakeFailed('timeout')
  t.strictSame(await seriesOf(registry, 'scopegate_tls_certificate_reloads_total'), [
    '{result="success"} 1',
    '{result="failure"} 2',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_tls_handshake_failures_total'), [
    '{reason="timeout"} 2',
    '{reason="version"} 1',
  ])
})
