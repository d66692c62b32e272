import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import { connect as connectPlainly } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { startDecisionEndpoint } from '../fixtures/a-decision-endpoint.ts'
import { startTlsGateway } from '../fixtures/a-tls-gateway.ts'
import type { TestIssuer } from '../fixtures/an-issuer.ts'
import { CALL, type CheckClient, openCheckClient } from '../fixtures/check-client.ts'
import { until } from '../fixtures/until.ts'

const OPEN = { method: 'GET', path: '/pub/x', host: 'api.test' }

t.test('a drain announces the end of the connection, and finishes open calls', async (t) => {
  const { decisions, gateway, issuer } = await startDecisionEndpoint(t, 'ext-authz-grpc')
  const client = await openCheckClient(t, decisions)
  const idle = await openCheckClient(t, decisions)
  const { pending, respond } = await startPendingCall(client, issuer)
  const { port } = new URL(decisions)
  const unused = connectPlainly(Number(port), '127.0.0.1').on('error', () => undefined)
  await once(unused, 'connect')
  const announced = Promise.all([once(client.session, 'goaway'), once(idle.session, 'goaway')])
  const closed = gateway.close()
  const goaways = (await announced).map(([code, lastStream]) => [code, lastStream])
  // The ID of the last accepted stream. Envoy can repeat all later calls.
  t.same(goaways, [
    [constants.NGHTTP2_NO_ERROR, 1],
    [constants.NGHTTP2_NO_ERROR, 0],
  ])
  await once(unused.resume(), 'close')
  respond()
  t.equal((await pending).status, 401)
  await closed
  await t.rejects(once(connectPlainly(Number(port), '127.0.0.1'), 'connect'))
})

t.test('a connection that opens during a drain ends after its first calls', async (t) => {
  const { decisions, gateway } = await startDecisionEndpoint(t, 'ext-authz-grpc', {
    change: (config) => ({ ...config, drain: { delayMs: 5_000, graceMs: 20_000 } }),
  })
  const closed = gateway.close()
  const client = await openCheckClient(t, decisions)
  const announced = once(client.session, 'goaway')
  const calls = await Promise.all([client.check(OPEN), client.check(OPEN)])
  t.same(
    calls.map(({ status }) => status),
    [200, 200],
  )
  t.equal((await announced)[1], 3)
  const later = connectPlainly(Number(new URL(decisions).port), '127.0.0.1')
  t.teardown(() => later.destroy())
  await t.resolves(once(later, 'connect'), 'the delay is not over')
  later.destroy()
  await closed
})

t.test('TLS: the port offers only HTTP/2', async (t) => {
  const { log, authority } = await startTlsGateway(t, {
    change: (config) => ({
      ...config,
      trustedProxies: ['127.0.0.1'],
      decisions: { listen: { host: '127.0.0.1', port: 0 }, protocol: 'ext-authz-grpc' },
    }),
  })
  const url = String(log().find(({ event }) => event === 'serving_decisions')?.['url'])
  t.match(url, /^https:/)
  const client = await openCheckClient(t, url, { ca: authority.cert })
  t.equal((await client.check(OPEN)).status, 200)
  const { hostname, port } = new URL(url)
  const socket = connectTls({
    host: hostname,
    port: Number(port),
    ca: authority.cert,
    ALPNProtocols: ['http/1.1'],
  })
  await t.rejects(once(socket, 'secureConnect'))
})

t.test('the gateway rejects metadata and messages above the limits', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'ext-authz-grpc')
  const client = await openCheckClient(t, decisions, { maxSendHeaderBlockLength: 2 ** 20 })
  const tooLong = await client.check({ ...OPEN, path: `/pub/${'x'.repeat(8 * 1024)}` })
  t.equal(tooLong.status, 414)
  const large = await client.check({ ...OPEN, headers: { 'x-large': 'x'.repeat(200 * 1024) } })
  t.equal(large.status, 431)
  t.match(large.body, /request_id/)
  const good = client.encode(OPEN)
  t.ok((await client.raw(good, { 'x-large': 'x'.repeat(40 * 1024) })).reset, 'one large field')
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x-${index}`, '1']))
  const second = await openCheckClient(t, decisions)
  t.ok((await second.raw(good, many)).reset, 'many fields')
  const other = await openCheckClient(t, decisions)
  t.equal((await other.check(OPEN)).status, 200)
})

t.test('the gateway ends calls without an end and connections without a call', async (t) => {
  const { decisions, issuer } = await startDecisionEndpoint(t, 'ext-authz-grpc')
  const client = await openCheckClient(t, decisions)
  const { pending, respond } = await startPendingCall(client, issuer)
  const port = Number(new URL(decisions).port)
  const withoutBytes = connectPlainly(port, '127.0.0.1').resume()
  const withoutEnd = connectPlainly({ port, host: '127.0.0.1', allowHalfOpen: true })
  withoutEnd.on('error', () => undefined).resume()
  const withoutCall = connect(decisions)
  t.teardown(() => withoutBytes.destroy())
  t.teardown(() => withoutEnd.destroy())
  t.teardown(() => withoutCall.destroy())
  const closed = Promise.all([once(withoutBytes, 'close'), once(withoutCall, 'close')])
  const silent = connect(decisions)
  t.teardown(() => silent.destroy())
  const [settings] = await once(silent, 'remoteSettings')
  t.equal(settings.maxConcurrentStreams, 100)
  const streams = Array.from({ length: 100 }, () => silent.request(CALL))
  const resets = streams.map(async (stream) => {
    stream.on('error', () => undefined)
    await once(stream, 'close')
    return stream.rstCode
  })
  t.equal((await client.check(OPEN)).status, 200)
  t.same(new Set(await Promise.all(resets)), new Set([constants.NGHTTP2_CANCEL]))
  await closed
  await until('the gateway resets the connection of a client that does not close its side', async () => {
    withoutEnd.write('x')
    return withoutEnd.destroyed
  })
  respond()
  t.equal((await pending).status, 401, 'a complete call can wait for its issuer')
})

t.test('a call that the client resets without an error ends without a response', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'ext-authz-grpc')
  const client = await openCheckClient(t, decisions)
  const session = connect(decisions)
  t.teardown(() => session.destroy())
  const good = client.encode(OPEN)
  for (const bytes of [Buffer.alloc(0), good.subarray(0, -1), good, Buffer.from([1, 0, 0, 0, 0])]) {
    const stream = session.request(CALL)
    stream.write(bytes)
    stream.close(constants.NGHTTP2_NO_ERROR)
    await once(stream, 'close')
    await new Promise((resolve) => session.ping(resolve))
  }
  t.equal((await client.check(OPEN)).status, 200)
})

t.test('the gateway resets a call whose client does not read the response', async (t) => {
  const { decisions, log } = await startDecisionEndpoint(t, 'ext-authz-grpc')
  const client = await openCheckClient(t, decisions)
  const session = connect(decisions, { settings: { initialWindowSize: 0 } })
  t.teardown(() => session.destroy())
  await once(session, 'remoteSettings')
  const stream = session.request(CALL)
  stream.on('error', () => undefined)
  stream.end(client.encode({ ...OPEN, path: '/pub/unread' }))
  await once(stream, 'response')
  t.equal((await client.check(OPEN)).status, 200, 'other calls get decisions')
  await once(stream, 'close')
  t.equal(stream.rstCode, constants.NGHTTP2_CANCEL)
  const line = () => log().find((one) => one['url.path'] === '/pub/unread')
  await until('the access log has the call', async () => line() !== undefined)
})

t.test('the gateway closes a connection that resets many calls, and serves other connections', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'ext-authz-grpc')
  const client = await openCheckClient(t, decisions)
  t.equal((await client.check(OPEN)).status, 200) // the gateway closes a connection without a call after 10 s
  const flood = connect(decisions)
  flood.on('error', () => undefined)
  t.teardown(() => flood.destroy())
  const goaway = once(flood, 'goaway')
  await once(flood, 'remoteSettings')
  const isOpen = (): boolean => !flood.closed && !flood.destroyed
  /** Waits until the gateway has read all frames. */
  const ping = () =>
    new Promise<void>((resolve) => {
      if (!isOpen() || !flood.ping(() => resolve())) resolve()
    })
  for (let round = 0; round < 1_000 && isOpen(); round += 1) {
    const streams = Array.from({ length: 50 }, () => flood.request(CALL).on('error', () => undefined))
    await ping()
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
    await ping()
  }
  t.not((await goaway)[0], constants.NGHTTP2_NO_ERROR)
  t.equal((await client.check(OPEN)).status, 200)
})

t.test('the port limits its connections, and survives bytes that are not HTTP/2', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'ext-authz-grpc', {
    change: (config) => ({ ...config, limits: { ...config.limits, connections: 2 } }),
  })
  const port = Number(new URL(decisions).port)
  for (const bytes of [
    'GET / HTTP/1.1\r\nhost: api.test\r\n\r\n',
    '\0'.repeat(100),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff'.repeat(9),
  ]) {
    const socket = connectPlainly(port, '127.0.0.1').on('error', () => undefined)
    socket.resume().write(bytes, 'latin1')
    await once(socket, 'close')
  }
  const first = await openCheckClient(t, decisions)
  await openCheckClient(t, decisions)
  const third = connectPlainly(port, '127.0.0.1').on('error', () => undefined)
  await once(third.resume(), 'close')
  t.equal((await first.check(OPEN)).status, 200)
})

/** Starts a call that waits for the issuer, until the test calls `respond`. */
async function startPendingCall(client: CheckClient, issuer: TestIssuer) {
  const asked = Promise.withResolvers<() => void>()
  issuer.answerWith((response) =>
    asked.resolve(() =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}'),
    ),
  )
  const pending = client.check({
    ...OPEN,
    path: '/api/courses',
    headers: { authorization: 'Bearer held' },
  })
  return { pending, respond: await asked.promise }
}
