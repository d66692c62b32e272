import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import {
  openRevocationStream,
  type StreamEvent,
} from '../../../authorization-server/endpoints/revocation-stream.ts'
import type {
  LoggedRevocation,
  RevocationListener,
  RevocationLog,
} from '../../../authorization-server/store/store.ts'
import { REVOCATION_STREAM_PATH } from '../../../oauth/endpoints.ts'
import { aRevocation } from '../../fixtures/a-revocation.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { listenForRevocations } from '../../fixtures/listen-for-revocations.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { knownClient, registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

const SECRET = 'the-secret-of-the-gateway'
const GOOD = `Basic ${btoa(`gateway:${SECRET}`)}`
const KNOWN = 'known.0'
const ADDRESS = '203.0.113.9'

/** Starts a server that has only the revocation stream. The test writes the entries of the revocation log. */
async function openStream(t: Test, changes: Partial<RevocationLog> = {}) {
  let listener: RevocationListener | undefined
  let isFollowing = false
  const events: StreamEvent[] = []
  const onDisk: string[] = []
  const added: string[] = []
  const log: RevocationLog = {
    lastId: async () => KNOWN,
    readAfter: async (id) => (id === KNOWN ? [] : undefined),
    follow: async (one) => {
      listener = one
      isFollowing = true
      return () => {
        isFollowing = false
      }
    },
    ...changes,
  }
  const stream = await openRevocationStream({
    clientId: 'gateway',
    clientSecrets: () => [SECRET, ...added],
    readSecrets: async () => void added.push(...onDisk),
    log,
    onEvent: (event) => void events.push(event),
  })
  const app = Fastify({ trustProxy: 'loopback' })
  app.get(REVOCATION_STREAM_PATH, stream.handle)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  t.teardown(async () => {
    agent.destroy()
    stream.close()
    await app.close()
  })
  const { port } = app.server.address() as AddressInfo
  const ask = async (authorization: string | undefined, lastEventId?: string): Promise<IncomingMessage> => {
    const headers = {
      'x-forwarded-for': ADDRESS,
      ...(authorization === undefined ? {} : { authorization }),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    }
    const request = get({ host: '127.0.0.1', port, path: REVOCATION_STREAM_PATH, headers, agent })
    request.on('error', () => undefined)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }
  let count = 0
  const tell = (howMany: number): LoggedRevocation[] => {
    const logged = Array.from({ length: howMany }, () => ({
      id: `known.${++count}`,
      revocation: aRevocation({ grant: 'g'.repeat(43) }),
    }))
    listener?.revoked(logged)
    return logged
  }
  return {
    stream,
    events,
    port,
    ask,
    tell,
    onDisk,
    isFollowing: () => isFollowing,
    log: () => {
      if (listener === undefined) throw new Error('the stream does not follow the log')
      return listener
    },
  }
}

/** Reads a response until the text has at least `length` characters, or until the response ends. */
async function read(response: IncomingMessage, length = Number.POSITIVE_INFINITY): Promise<string> {
  let text = ''
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    if (text.length >= length) break
  }
  return text
}

const READY = 'event: ready\nid: known.0\ndata: {"resumed":false}\n\n'
const RESUMED = 'event: ready\nid: known.0\ndata: {"resumed":true,"replayed":false}\n\n'
const REPLAYED = 'event: replayed\ndata: {}\n\n'
const RESET = 'event: reset\ndata: {}\n\n'
const HEARTBEAT = ': heartbeat\n\n'
const revoked = (count: number): string =>
  `event: revoked\nid: known.${count}\ndata: {"grant":"${'g'.repeat(43)}"}\n\n`

/** Returns the status, the body, and the headers that the application sets. */
async function rejectionOf(response: IncomingMessage) {
  const { connection: _c, date: _d, 'keep-alive': _k, 'content-length': _l, ...headers } = response.headers
  return { status: response.statusCode, json: JSON.parse(await read(response)), headers }
}

t.test('a stream has exactly the expected headers and events', async (t) => {
  const { events, ask, tell, log } = await openStream(t)
  const response = await ask(GOOD)
  t.equal(response.statusCode, 200)
  t.match(response.rawHeaders.slice(0, 6), [
    'content-type',
    'text/event-stream; charset=utf-8',
    'cache-control',
    'no-store',
    'x-accel-buffering',
    'no',
  ])
  t.equal(await read(response, READY.length), READY)
  tell(2)
  t.equal(await read(response, 2 * revoked(1).length), revoked(1) + revoked(2))
  tell(0)
  log().gap()
  t.equal(await read(response), RESET, 'a gap ends the stream, and a batch without revocations sends nothing')
  t.strictSame(events, [{ result: 'ok', reason: 'revocation stream opened', address: ADDRESS }])
})

t.test('a reconnected gateway gets the entries after its last ID, or the event reset', async (t) => {
  const limits: unknown[] = []
  const { ask, log } = await openStream(t, {
    readAfter: async (id, limit) => {
      limits.push([id, limit])
      return id === KNOWN
        ? [{ id: 'known.1', revocation: aRevocation({ grant: 'g'.repeat(43) }) }]
        : undefined
    },
  })
  for (const [id, text] of [
    [KNOWN, RESUMED + revoked(1) + REPLAYED],
    ['unknown', READY + RESET],
    ['', READY],
  ] as const) {
    const response = await ask(GOOD, id)
    t.equal(await read(response, text.length), text, id)
  }
  log().lost()
  t.strictSame(limits, [
    [KNOWN, 10_000],
    ['unknown', 10_000],
    [undefined, 10_000],
    [undefined, 10_000],
  ])
})

t.test('a new gateway gets the whole log and then the event complete', async (t) => {
  const { ask } = await openStream(t, {
    readAfter: async (id) =>
      id === undefined
        ? [1, 2].map((count) => ({
            id: `known.${count}`,
            revocation: aRevocation({ grant: 'g'.repeat(43) }),
          }))
        : undefined,
  })
  const ready = 'event: ready\nid: known.0\ndata: {"resumed":false,"replays":true}\n\n'
  const replay = `${revoked(1)}${revoked(2)}event: complete\ndata: {}\n\n`
  for (const [id, text] of [
    ['', ready + replay],
    ['unknown', ready + RESET + replay],
  ] as const)
    t.equal(await read(await ask(GOOD, id), text.length), text)
})

t.test('events of the time before the start follow the start', async (t) => {
  const asked = Promise.withResolvers<void>()
  const start = Promise.withResolvers<string>()
  const { stream, ask, tell, log } = await openStream(t, {
    lastId: () => {
      asked.resolve()
      return start.promise
    },
  })
  const opening = ask(GOOD)
  await asked.promise
  t.equal(stream.listeners(), 1)
  tell(2)
  log().gap()
  start.resolve(KNOWN)
  t.equal(await read(await opening), READY + revoked(1) + revoked(2) + RESET)
})

t.test('sends a heartbeat every 5 seconds, until close()', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { stream, ask, tell, isFollowing } = await openStream(t)
  const cleared = t.capture(globalThis, 'clearInterval', globalThis.clearInterval)
  const response = await ask(GOOD)
  mock.timers.tick(4_999)
  tell(1)
  mock.timers.tick(1)
  mock.timers.tick(5_000)
  const text = READY + revoked(1) + HEARTBEAT + HEARTBEAT
  t.equal(await read(response, text.length), text)
  t.equal(isFollowing(), true)
  stream.close()
  t.equal(await read(response), '')
  t.equal(isFollowing(), false)
  t.equal(cleared().length, 1)
})

t.test('the heartbeat does not keep the process alive', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const stream = await openRevocationStream({
    clientId: 'gateway',
    clientSecrets: () => [SECRET],
    readSecrets: async () => undefined,
    log: { lastId: async () => KNOWN, readAfter: async () => [], follow: async () => () => undefined },
    onEvent: () => undefined,
  })
  t.equal(timers(), before)
  stream.close()
})

t.test('a caller that is not the gateway gets 401 with a challenge', async (t) => {
  const { stream, events, ask } = await openStream(t)
  for (const authorization of [undefined, 'Basic Z2F0ZXdheTpndWVzcw=='])
    t.strictSame(await rejectionOf(await ask(authorization)), {
      status: 401,
      json: {
        error: 'invalid_client',
        error_description: 'Authenticate with the client id and secret of the gateway.',
      },
      headers: {
        'cache-control': 'no-store',
        'content-type': 'application/json; charset=utf-8',
        'www-authenticate': 'Basic realm="revocations"',
      },
    })
  t.equal(stream.listeners(), 0)
  const event = {
    result: 'invalid_client',
    reason: 'the credentials do not match gatewayClient',
    address: ADDRESS,
  }
  t.strictSame(events, [event, event])
})

t.test('a gateway with a new secret gets a stream when the secret is only in the file', async (t) => {
  const { ask, onDisk } = await openStream(t)
  const authorization = `Basic ${btoa('gateway:the-new-secret')}`
  t.equal((await ask(authorization)).statusCode, 401)
  onDisk.push('the-new-secret')
  t.equal((await ask(authorization)).statusCode, 200)
})

t.test('a stream that cannot start gets 503', async (t) => {
  const unavailable = (description: string) => ({
    status: 503,
    json: { error: 'temporarily_unavailable', error_description: description },
    headers: {
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'retry-after': '5',
    },
  })
  const event = { result: 'temporarily_unavailable', address: ADDRESS }
  const { stream, events, ask } = await openStream(t, {
    lastId: async () => Promise.reject(new Error('the store is away')),
  })
  t.strictSame(
    await rejectionOf(await ask(GOOD)),
    unavailable('The revocation log is temporarily unavailable. Try again later.'),
  )
  await until('the listener is removed', async () => stream.listeners() === 0)
  stream.close()
  t.strictSame(
    await rejectionOf(await ask(GOOD)),
    unavailable('The server accepts no more streams at the moment. Try again later.'),
  )
  t.strictSame(events, [
    { ...event, reason: 'the store is unavailable' },
    { ...event, reason: 'the server is shutting down' },
  ])
})

t.test('a stream gets 503 while revocations of other processes do not arrive', async (t) => {
  const { stream, events, ask, log } = await openStream(t)
  const response = await ask(GOOD)
  log().lost()
  t.equal(await read(response), READY, 'the stream ends')
  for (const id of [undefined, KNOWN]) t.equal((await ask(GOOD, id)).statusCode, 503, 'the log is readable')
  await until('the listeners are removed', async () => stream.listeners() === 0)
  t.match(events.slice(1), [
    { result: 'temporarily_unavailable', reason: 'revocations of other processes do not arrive' },
    { result: 'temporarily_unavailable' },
  ])
  log().restored?.()
  t.equal((await ask(GOOD)).statusCode, 200)
})

t.test('closes the stream of a gateway that does not read, and keeps other streams open', async (t) => {
  const { stream, events, port, ask, tell } = await openStream(t)
  const reader = await ask(GOOD)
  let read = ''
  reader.setEncoding('utf8').on('data', (text: string) => {
    read = read.slice(-1_000) + text
  })
  const deaf = connect(port, '127.0.0.1')
  t.teardown(() => deaf.destroy())
  deaf.on('error', () => undefined).pause()
  deaf.write(`GET ${REVOCATION_STREAM_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: ${GOOD}\r\n\r\n`)
  await until('both gateways listen', async () => stream.listeners() === 2)

  let told = 0
  while (stream.listeners() === 2 && told < 500_000) {
    const last = tell(1_000).at(-1)
    told += 1_000
    await until('read', async () => read.includes(`id: ${last?.id}\n`))
    await nextTurn()
  }
  t.equal(stream.listeners(), 1)
  t.comment(`cut after ${told} revocations`)
  t.match(events.slice(2), [{ result: 'cut', reason: 'the gateway reads too slowly' }])
  t.equal(events.length, 3, 'the event occurs once')
  const [next] = tell(1)
  await until('read', async () => read.includes(`id: ${next?.id}\n`))
})

t.test('a gateway that reads slowly gets a complete replay', async (t) => {
  const all = Array.from({ length: 10_000 }, (_, count) => ({
    id: `known.${count}`,
    // A long issuer makes the replay longer than the buffers of the sockets.
    revocation: aRevocation({ issuer: `https://${'i'.repeat(1_000)}.test`, grant: 'g'.repeat(43) }),
  }))
  const { events, ask, tell } = await openStream(t, {
    readAfter: async (id) => (id === undefined ? all : undefined),
  })
  const response = await ask(GOOD)
  for (let count = 0; count < 10; count++) {
    tell(1)
    await nextTurn()
  }
  let end = ''
  for await (const chunk of response) {
    end = (end + String(chunk)).slice(-2_000)
    if (end.includes('event: complete')) break
  }
  t.match(end, 'event: complete')
  t.match(events, [{ result: 'ok' }], 'the stream is not cut')
})

t.test(
  'accepts 256 of 1,000 concurrent connections, and accepts new connections after they close',
  async (t) => {
    const { stream, events, ask } = await openStream(t)
    const strangers = await Promise.all(
      Array.from({ length: 1_000 }, () => ask('Basic Z2F0ZXdheTpndWVzcw==')),
    )
    t.ok(strangers.every(({ statusCode }) => statusCode === 401))
    t.equal(stream.listeners(), 0)
    for (const stranger of strangers) stranger.destroy()

    const answers = await Promise.all(Array.from({ length: 1_000 }, () => ask(GOOD)))
    const taken = answers.filter(({ statusCode }) => statusCode === 200)
    const rejected = answers.filter(({ statusCode }) => statusCode === 503)
    t.same([taken.length, rejected.length, stream.listeners()], [256, 744, 256])
    t.ok(rejected.every(({ headers }) => headers['retry-after'] === '5'))
    t.same(
      [...new Set(events.map(({ result, reason }) => `${result}: ${reason}`))],
      [
        'invalid_client: the credentials do not match gatewayClient',
        'ok: revocation stream opened',
        'temporarily_unavailable: the limit of 256 streams is reached',
      ],
    )
    for (const answer of answers) answer.destroy()
    await until('all streams are closed', async () => stream.listeners() === 0)
    const later = await ask(GOOD)
    t.equal(later.statusCode, 200)
    later.destroy()
  },
)

t.test('a process that cannot receive revocations of other processes closes its streams', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(() => redis.stop())
  const way = await startFaultProxy(redis.port)
  t.teardown(() => way.close())
  const store = { type: 'redis' } as const
  const deaf = await startServer(t, { store, redis: { url: `redis://127.0.0.1:${way.port}` } })
  const shared = { issuer: deaf.baseUrl, dataDir: deaf.dataDir, store, redis: { url: redis.url } }
  const other = await startServer(t, shared)
  const client = await registerClient(deaf)
  const asking = { browser: openBrowser(deaf.baseUrl), scope: 'courses:read' }
  await client.revoke((await client.obtainTokens(asking)).accessToken)
  const tokens = await client.obtainTokens(asking)
  const { grant } = await introspect(deaf, tokens.accessToken)
  const gateway = { url: deaf.baseUrl, secret: deaf.gatewaySecret }
  const events = await listenForRevocations(t, gateway)
  const { id = '' } = (await events.next()) ?? {}
  t.match(await events.next(), { event: 'revoked' })
  t.match(await events.next(), { event: 'complete' })

  await way.down()
  t.equal(await events.next(), undefined, 'the stream ends')
  const headers = { authorization: `Basic ${btoa(`gateway:${deaf.gatewaySecret}`)}` }
  t.match(await send(deaf.baseUrl + REVOCATION_STREAM_PATH, { headers }), {
    status: 503,
    json: { error: 'temporarily_unavailable' },
  })
  const elsewhere = knownClient({ baseUrl: `http://127.0.0.1:${other.port}`, secret: other.secret }, client)
  t.equal((await elsewhere.revoke(tokens.accessToken)).status, 200)
  await way.up()
  await until('the store is available again', async () =>
    (await send(`${deaf.managementUrl}/readyz?verbose`)).text.includes('[+] store'),
  )
  // Waits until both servers wait for entries with XREAD. Without the connection for XREAD, a server would close its
  // streams again.
  const admin = new Redis(redis.url)
  t.teardown(() => admin.disconnect())
  await until('both servers read the revocation log', async () => {
    const clients = String(await admin.call('CLIENT', 'LIST'))
    return clients.match(/ cmd=xread /g)?.length === 2
  })
  const again = await listenForRevocations(t, { ...gateway, lastEventId: id })
  t.match(await again.next(), { event: 'ready', id, data: { resumed: true } })
  t.match(await again.next(), { event: 'revoked', data: { grant } })

  const { text } = await send(`${deaf.managementUrl}/metrics`)
  t.match(
    text,
    /^scopegate_oauth_requests_total\{endpoint="revocation_stream",grant_type="-",result="ok"\} 2$/m,
  )
  t.match(text, /endpoint="revocation_stream",grant_type="-",result="temporarily_unavailable"\} 1$/m)
  t.match(
    deaf.log().filter((line) => line['endpoint'] === 'revocation_stream'),
    [
      { event: 'revocation_listener' },
      { event: 'refused', reason: 'the store is unavailable' },
      { event: 'revocation_listener' },
    ],
  )
  t.notMatch(deaf.output(), deaf.gatewaySecret)
})
