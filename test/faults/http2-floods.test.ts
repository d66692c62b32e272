import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { startBodyUpstream } from '../../bench/soak/start-body-upstream.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { aCertificate } from '../fixtures/a-certificate.ts'
import { openHttp2Client } from '../fixtures/http2-client.ts'
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  type FrameClient,
  frame,
  headerBlock,
  headersFrame,
  literalField,
  numberFrame,
  openFrameClient,
  pseudoHeaders,
  settingsFrame,
} from '../fixtures/http2-frames.ts'
import { mountSecret } from '../fixtures/mounted-secret.ts'
import { until } from '../fixtures/until.ts'

/** Frames of each flood. `npm run soak:http2` sends 100,000. */
const FRAMES = Number(process.env['HTTP2_FLOOD_FRAMES'] ?? 2_000)
const BATCH = 200
/** A gateway without load uses about 130 MB. Its heap has at most 256 MB. Bytes. */
const RSS_LIMIT = 600 * 1_000_000
/** 1,000 streams that no client reads. Without backpressure, the gateway needs 600 MB. Bytes. */
const UNREAD_RSS_LIMIT = 450 * 1_000_000
/** The gateway closes a connection at the latest after this number of frames. */
const CLOSED_AFTER = 1_500
const CANCEL = 8
const INITIAL_WINDOW_SIZE = 4

type Flood = {
  readonly name: string
  /** Frames before the flood of a connection. */
  readonly start?: (path: string) => readonly Buffer[]
  /** Frames number `at`, counted from 0 in each connection. */
  readonly frames: (at: number, path: string) => readonly Buffer[]
  /** The gateway closes each connection with many frames. */
  readonly closes?: boolean
  /** Upstream requests for each connection. Undefined: no limit. */
  readonly forwardsAtMost?: number
  readonly settings?: readonly (readonly [id: number, value: number])[]
  /** Part of `FRAMES`. Default: 1. */
  readonly part?: number
  /** The client does not read. */
  readonly isDeaf?: boolean
}

const stream = (at: number): number => 2 * at + 1
const get = (at: number, path: string): Buffer => headersFrame(stream(at), pseudoHeaders(path))
const post = (id: number, path: string): Buffer => headersFrame(id, pseudoHeaders(path, 'POST'), 0)
const indexed = (count: number): Buffer => Buffer.alloc(count, 0x80 | 62)

const FLOODS: readonly Flood[] = [
  {
    name: 'streams that the client resets at once',
    frames: (at, path) => [get(at, path), numberFrame(FRAME.RST_STREAM, stream(at), CANCEL)],
    closes: true,
    forwardsAtMost: 600,
  },
  {
    name: 'streams that the client resets later',
    frames: (at, path) =>
      at % BATCH < BATCH / 2
        ? [get(at, path)]
        : [numberFrame(FRAME.RST_STREAM, stream(at - BATCH / 2), CANCEL)],
    closes: true,
    forwardsAtMost: 700,
  },
  {
    name: 'streams that the gateway resets because of a wrong window update',
    frames: (at, path) => [get(at, path), numberFrame(FRAME.WINDOW_UPDATE, stream(at), 0)],
    closes: true,
    forwardsAtMost: 600,
  },
  {
    name: 'more streams than the gateway permits',
    frames: (at, path) => [post(stream(at), path)],
    forwardsAtMost: 100,
  },
  {
    name: 'CONTINUATION frames without an end',
    start: (path) => [frame(FRAME.HEADERS, 0, 1, headerBlock(pseudoHeaders(path)))],
    frames: (at) => [frame(FRAME.CONTINUATION, 0, 1, headerBlock([[`x-${at}`, 'x'.repeat(100)]]))],
    closes: true,
    forwardsAtMost: 0,
  },
  {
    name: 'empty CONTINUATION frames',
    start: (path) => [frame(FRAME.HEADERS, 0, 1, headerBlock(pseudoHeaders(path)))],
    frames: () => [frame(FRAME.CONTINUATION, 0, 1)],
    closes: true,
    forwardsAtMost: 0,
  },
  {
    name: 'SETTINGS frames',
    start: (path) => [get(0, path)],
    frames: (at) => [settingsFrame([[INITIAL_WINDOW_SIZE, 1_000 + at]])],
    closes: true,
  },
  {
    name: 'PING frames',
    start: (path) => [get(0, path)],
    frames: () => [frame(FRAME.PING, 0, 0, Buffer.alloc(8))],
    closes: true,
  },
  {
    name: 'PING frames of a client that does not read',
    start: (path) => [get(0, path)],
    frames: () => [frame(FRAME.PING, 0, 0, Buffer.alloc(8))],
    closes: true,
    isDeaf: true,
  },
  {
    name: 'small header blocks with large headers (HPACK bomb)',
    // The first block adds a header of 4,000 bytes to the table. Each further byte repeats this header.
    start: (path) => [
      frame(
        FRAME.HEADERS,
        END_HEADERS | END_STREAM,
        1,
        Buffer.concat([headerBlock(pseudoHeaders(path)), literalField(0x40, 'x-a', 'a'.repeat(3_900))]),
      ),
    ],
    frames: (at, path) => [
      frame(
        FRAME.HEADERS,
        END_HEADERS | END_STREAM,
        stream(at + 1),
        Buffer.concat([headerBlock(pseudoHeaders(path)), indexed(16_000)]),
      ),
    ],
    part: 0.05,
    forwardsAtMost: 1,
  },
  {
    name: 'empty DATA frames',
    start: (path) => [post(1, path)],
    frames: () => [frame(FRAME.DATA, 0, 1)],
    forwardsAtMost: 1,
  },
  { name: 'PRIORITY frames', frames: (at) => [frame(FRAME.PRIORITY, 0, stream(at), Buffer.alloc(5))] },
  { name: 'window updates', frames: () => [numberFrame(FRAME.WINDOW_UPDATE, 0, 1)] },
  { name: 'frames of an unknown type', frames: () => [frame(99, 0, 0, Buffer.alloc(8))] },
]

t.test(
  'floods of HTTP/2 frames keep the memory of the gateway bounded, and other clients get responses',
  async (t) => {
    const under = await startFloodGateway(t)
    for (const [number, flood] of FLOODS.entries())
      await t.test(flood.name, async (t) => {
        const path = `/pub/${number}?bytes=2`
        const others = askRepeatedly(t, under)
        const { sent, connections, longest } = await send(under, flood, path)
        const { answered, failed } = await others.stop()
        const forwarded = under.forwarded(path)
        t.same(failed, [])
        t.ok(answered > 0)
        if (flood.forwardsAtMost !== undefined)
          t.ok(forwarded <= flood.forwardsAtMost * connections, `${forwarded} upstream requests`)
        const rss = under.peakRss()
        t.ok(rss < RSS_LIMIT, `${rss} bytes`)
        t.comment(
          `${sent} frames on ${connections} connections, at most ${longest} on one; ${forwarded} upstream requests; ${answered} other requests; ${Math.round(rss / 1e6)} MB`,
        )
      })
  },
)

t.test('streams whose client reads nothing keep only a part of their responses in memory', async (t) => {
  const under = await startFloodGateway(t)
  const clients = await Promise.all(
    Array.from({ length: 10 }, () => openFrameClient(under, [[INITIAL_WINDOW_SIZE, 0]])),
  )
  const streams = Array.from({ length: 100 }, (_, at) => stream(at))
  const before = under.peakRss()
  await Promise.all(
    clients.map(async (client) => {
      client.write(...streams.map((id) => headersFrame(id, pseudoHeaders('/pub/unread?bytes=1000000'))))
      for (const id of streams) await client.receive(FRAME.HEADERS, id)
    }),
  )
  const other = await openHttp2Client(t, under)
  t.match(await other.request('/pub/x?bytes=2'), { status: 200, text: 'xx' })
  const rss = under.peakRss()
  t.comment(`${Math.round((rss - before) / 1e6)} kB for each stream`)
  t.ok(rss < UNREAD_RSS_LIMIT, `${rss} bytes`)
})

type FloodGateway = Parameters<typeof openHttp2Client>[1] & {
  shake: Parameters<typeof openFrameClient>[0]['shake']
  forwarded(path: string): number
  peakRss(): number
}

async function startFloodGateway(t: Test): Promise<FloodGateway> {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const folder = t.testdir({ config: {}, secret: {} })
  const authority = aCertificate({ authority: true })
  const { certFile, keyFile } = mountSecret(join(folder, 'secret'), aCertificate({ by: authority }))
  const forwarded = new Map<string, number>()
  const upstream = await startBodyUpstream(cleanup, (target) =>
    forwarded.set(target, (forwarded.get(target) ?? 0) + 1),
  )
  const gateway = await startSoakGateway({
    folder: join(folder, 'config'),
    cleanup,
    upstream,
    settings: { baseUrl: 'https://127.0.0.1', tls: { certFile, keyFile, http2: true } },
    nodeOptions: ['--max-old-space-size=256'],
  })
  const address = { host: '127.0.0.1', port: Number(new URL(gateway.url).port), ca: authority.cert }
  return {
    gateway: gateway as unknown as FloodGateway['gateway'],
    authority,
    async shake(options) {
      const socket = connect({ ...address, ...options })
      t.teardown(() => socket.destroy())
      await once(socket, 'secureConnect')
      return socket.on('error', () => undefined)
    },
    forwarded: (path) => forwarded.get(path) ?? 0,
    peakRss() {
      const status = readFileSync(`/proc/${gateway.process.child.pid}/status`, 'utf8')
      return 1_024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1])
    },
  }
}

/** Sends all frames of a flood. Opens a further connection after the gateway has closed a connection. */
async function send(under: FloodGateway, flood: Flood, path: string) {
  let sent = 0
  let connections = 0
  let longest = 0
  const total = FRAMES * (flood.part ?? 1)
  while (sent < total) {
    const client: FrameClient = await openFrameClient(under, flood.settings)
    connections += 1
    if (flood.isDeaf === true) client.socket.pause()
    client.write(...(flood.start?.(path) ?? []))
    let here = 0
    let isOpen = true
    while (isOpen && sent < total) {
      const part = Array.from({ length: BATCH / 2 }, (_, at) => flood.frames(here + at, path)).flat()
      isOpen = await client.writeAll(...part)
      await new Promise((resolve) => setImmediate(resolve))
      here += BATCH / 2
      sent += BATCH / 2
    }
    longest = Math.max(longest, here)
    if (flood.closes === true && here >= CLOSED_AFTER)
      await until('the gateway closes the connection', async () => client.socket.resume().destroyed)
    client.socket.destroy()
  }
  return { sent, connections, longest }
}

function askRepeatedly(t: Test, under: FloodGateway) {
  let isOver = false
  let answered = 0
  const failed: unknown[] = []
  const asking = openHttp2Client(t, under).then(async (client) => {
    do {
      const { status, text, code } = await client.request('/pub/x?bytes=2')
      if (status === 200 && text === 'xx') answered += 1
      else failed.push({ status, text, code })
    } while (!isOver && failed.length === 0)
    client.session.destroy()
  })
  return {
    async stop() {
      isOver = true
      await asking
      return { answered, failed }
    },
  }
}
