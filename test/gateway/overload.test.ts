import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import type { PressureReading } from '../../gateway/limits/overload/read-pressure.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const CALM: PressureReading = { heap: 0.1, memory: 0, loop: 0, longestDelayMs: 0 }

/** Starts a gateway. The test sets the pressure. */
async function start(t: Test) {
  let pressure = CALM
  const { gateway, upstream, logText } = await startGatewayUnderTest(t, {
    gateway: { readPressure: () => pressure },
  })
  const metric = async (name: string) =>
    sumSamples(await (await fetch(`${gateway.managementUrl}/metrics`)).text(), name)
  return {
    gateway,
    upstream,
    logText,
    metric,
    async set(change: Partial<PressureReading>, level: number) {
      pressure = { ...CALM, ...change }
      await until(`level ${level}`, async () => (await metric('scopegate_overload_level')) === level)
    },
  }
}

t.test('under pressure the gateway closes connections after their responses', async (t) => {
  const { gateway, set } = await start(t)
  t.not((await send(`${gateway.url}/pub/x`)).headers.get('connection'), 'close')
  await set({ memory: 0.86 }, 1)
  for (const path of ['/pub/x', '/', '/nothing-here'])
    t.equal((await send(`${gateway.url}${path}`)).headers.get('connection'), 'close', path)
})

t.test(
  'under higher pressure the gateway rejects requests before it reads the body, and counts them by reason',
  async (t) => {
    const { gateway, upstream, set, metric, logText } = await start(t)
    const held: Socket[] = []
    upstream.reply((socket) => held.push(socket))
    const first = send(`${gateway.url}/pub/first`)
    await until('one request is in progress', async () => upstream.requests.length === 1)
    await set({ heap: 0.93 }, 2)

    for (const [path, message] of [
      ['/pub/x', {}],
      ['/api/courses', { token: 'never looked at' }],
      ['/pub/x', { method: 'POST', body: 'x'.repeat(500_000) }],
      ['/oauth/authorize', {}],
      ['/.well-known/oauth-protected-resource', {}],
    ] as const) {
      const answer = await send(`${gateway.url}${path}`, message)
      t.equal(answer.status, 503, path)
      t.match(answer.json, { error: 'server_error', retry_after: 4 })
      t.equal(answer.headers.get('retry-after'), '4')
      t.equal(answer.headers.get('connection'), 'close')
      t.equal(answer.headers.get('x-scopegate-error'), '1')
    }
    t.equal((await send(`${gateway.url}/pub//%zz`)).status, 400, 'a malformed request still gets 400')
    t.equal(upstream.requests.length, 1)
    t.equal(await metric('scopegate_overload_refused_total{reason="heap"}'), 5)
    await until(
      'the rejections are logged',
      async () => logText().split('"error.type":"overloaded"').length === 6,
    )

    for (const socket of held) socket.write(OK_REPLY)
    t.equal((await first).status, 200, 'requests in progress get their responses')
  },
)

t.test('under pressure the gateway rejects a WebSocket handshake like any other request', async (t) => {
  const { gateway, upstream, set } = await start(t)
  upstream.reply(() => undefined)
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write('GET /pub/held HTTP/1.1\r\nhost: a\r\n\r\n')
  await until('one request is in progress', async () => upstream.requests.length === 1)
  await set({ loop: 20_000 }, 2)
  const answer = await new Promise<string>((resolve) => {
    const client = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    let text = ''
    client.on('data', (part) => (text += part)).on('close', () => resolve(text))
    client.write(
      'GET /pub/x HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
  })
  t.match(answer, /^HTTP\/1\.1 503 /)
  t.equal(upstream.requests.length, 1)
})

t.test(
  'under any pressure the gateway handles one request at a time, and handles concurrent requests after the pressure',
  async (t) => {
    const { gateway, upstream, set, metric } = await start(t)
    await set({ heap: 0.99 }, 2)
    for (let time = 0; time < 3; time++) t.equal((await send(`${gateway.url}/pub/alone`)).status, 200)
    t.equal(await metric('scopegate_overload_refused_total'), 0)
    await set({}, 0)
    const held: Socket[] = []
    upstream.reply((socket) => held.push(socket))
    const both = [send(`${gateway.url}/pub/a`), send(`${gateway.url}/pub/b`)]
    await until('both were forwarded', async () => held.length === 2)
    for (const socket of held) socket.write(OK_REPLY)
    for (const answer of await Promise.all(both)) {
      t.equal(answer.status, 200)
      t.not(answer.headers.get('connection'), 'close')
    }
  },
)

t.test('readiness reports a slow event loop, and liveness does not', async (t) => {
  const { gateway, set } = await start(t)
  const ready = async () => send(`${gateway.managementUrl}/readyz?verbose`)
  t.match(await ready(), { status: 200, text: /\[\+\] event_loop\n/ })
  await set({ longestDelayMs: 1_600 }, 0)
  const late = await until('the gateway is not ready', async () => {
    const answer = await ready()
    return answer.status === 503 && answer
  })
  t.match(late.text, /\[-\] event_loop: event loop delay up to 1600 ms\n/)
  t.equal((await send(`${gateway.managementUrl}/livez`)).status, 200)
  await set({}, 0)
  await until('the gateway is ready again', async () => (await ready()).status === 200)
})
