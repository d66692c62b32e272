import { Registry } from 'prom-client'
import t from 'tap'
import { type ChannelState, createRevocationMeter } from '../../../gateway/observability/metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('the channel gauge shows the state of each current channel', async (t) => {
  let issuers: readonly ChannelState[] = [
    { issuer: 'a', isConnected: true },
    { issuer: 'b', isConnected: false },
  ]
  const registry = new Registry()
  createRevocationMeter([registry], () => issuers)
  t.strictSame(await seriesOf(registry, 'scopegate_revocation_channel_up'), [
    '{issuer="a"} 1',
    '{issuer="b"} 0',
  ])
  issuers = [{ issuer: 'a', isConnected: false }]
  t.strictSame(await seriesOf(registry, 'scopegate_revocation_channel_up'), ['{issuer="a"} 0'])
})

t.test('the meter adds received revocations and counts gaps', async (t) => {
  const registry = new Registry()
  const meter = createRevocationMeter([registry], () => [])
  meter.revocations(2)
  meter.revocations(3)
  meter.revocationGap()
  t.strictSame(await seriesOf(registry, 'scopegate_revocations_received_total'), ['5'])
  t.strictSame(await seriesOf(registry, 'scopegate_revocation_gaps_total'), ['1'])
})
