import { randomBytes } from 'node:crypto'
import t from 'tap'
import { STREAMS, startStreams, useAll } from '../fixtures/live-streams.ts'
import { until } from '../fixtures/until.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import type { UpstreamSocket } from '../fixtures/websocket-upstream.ts'

t.test('one hundred streams stay open during the drain and then end cleanly', async (t) => {
  const streams = await startStreams(t, 10_000)
  const { under, live, websockets, eventClients, eventSources } = streams
  await useAll(streams, 'before')
  const closing = under.gateway.close()
  t.equal((await fetch(`${under.gateway.managementUrl}/readyz`)).status, 503)
  for (const word of ['first', 'second', 'third']) await useAll(streams, word)
  t.pass('every stream is live while the gateway drains')
  await t.rejects(fetch(`${under.gateway.url}/events`), 'no new stream is accepted')
  await closing
  for (const { closed } of websockets) t.same(await closed, { code: 1001, reason: 'going away' })
  for (const { ended, text } of eventClients) {
    await ended
    t.match(text(), /data: third\n\n\r\n0\r\n\r\n$/, 'a complete response')
  }
  await until('the upstreams have received the Close frames', async () => live.closes.length === STREAMS)
  t.ok(live.closes.every((code) => code === 1001))
  await until('the event streams to the upstream are closed', async () =>
    eventSources.every((source) => source.destroyed),
  )
})

t.test('a drain ends when its last stream ends', async (t) => {
  const streams = await startStreams(t, 3_600_000) // longer than the duration of the test
  const closing = streams.under.gateway.close()
  await useAll(streams, 'last')
  for (const source of streams.eventSources) source.end()
  for (const { socket } of streams.websockets) socket.close(1000)
  await closing
  for (const { closed } of streams.websockets) t.match(await closed, { code: 1000 })
})

t.test('Ctrl+C at a terminal ends the gateway without waiting for streams', async (t) => {
  const streams = await startStreams(t, 3_600_000)
  await streams.under.gateway.close({ how: 'immediate' })
  for (const { closed } of streams.websockets) t.match(await closed, { code: 1001 })
})

t.test(
  'fifty WebSocket sessions close with 1008 when their token expires, and event streams continue',
  async (t) => {
    const streams = await startStreams(t, 10_000, { lifeSeconds: 6 })
    await useAll(streams, 'before')
    for (const { closed } of streams.websockets) t.same(await closed, { code: 1008, reason: 'token expired' })
    await until(
      'the upstream has received the Close frames',
      async () => streams.live.closes.length === STREAMS,
    )
    t.ok(streams.live.closes.every((code) => code === 1008))
    await useAll({ ...streams, websockets: [] }, 'after')
  },
)

t.test('a failed upstream closes fifty WebSocket sessions with 1011 and resets event streams', async (t) => {
  const streams = await startStreams(t, 10_000)
  await useAll(streams, 'before')
  streams.live.kill() // also closes the connections of event streams
  for (const { closed } of streams.websockets) t.same(await closed, { code: 1011, reason: 'upstream gone' })
  for (const { ended, text } of streams.eventClients) {
    await ended
    t.notMatch(text(), /\r\n0\r\n\r\n$/, 'an incomplete response')
  }
  t.equal((await fetch(`${streams.under.gateway.url}/nothing`)).status, 404, 'the gateway serves')
})

t.test(
  'a WebSocket client that stops reading causes backpressure upstream, and receives everything later',
  async (t) => {
    const { under, live } = await startStreams(t, 10_000)
    const opened = new Promise<UpstreamSocket>((resolve) => live.onSession(resolve))
    const client = await openWebsocket(`${under.gateway.url}/live`)
    const source = await opened
    const total = 48 * 1_024 * 1_024
    const piece = randomBytes(256 * 1_024) // random bytes do not compress
    let received = 0
    client.socket.on('message', (data) => (received += data.length))
    client.socket.pause()
    for (let sent = 0; sent < total; sent += piece.length) source.send(piece)
    let held = -1
    await until('no more bytes arrive', async () => {
      const same = held === source.bufferedAmount
      held = source.bufferedAmount
      return same
    })
    t.ok(held > total / 4, `${held} bytes stay at the upstream`)
    client.socket.resume()
    await until('all bytes have arrived', async () => received === total, 120_000)
  },
)
