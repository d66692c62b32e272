import { constants } from 'node:http2'
import t from 'tap'
import { ClientFrames } from '../../../../gateway/server/http2/client-frames.ts'
import { startTlsGateway } from '../../../fixtures/a-tls-gateway.ts'
import {
  ACK,
  END_STREAM,
  FRAME,
  frame,
  headersFrame,
  numberFrame,
  openFrameClient,
  PREFACE,
  pseudoHeaders,
  settingsFrame,
} from '../../../fixtures/http2-frames.ts'
import { OK_REPLY } from '../../../fixtures/recording-upstream.ts'

const { NGHTTP2_FLOW_CONTROL_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_STREAM_CLOSED } = constants
const CANCEL = 8
const PADDED = 8
const INITIAL_WINDOW_SIZE = 4
const MAX_WINDOW = 2 ** 31 - 1

const open = (id: number): Buffer => headersFrame(id, pseudoHeaders('/pub/held', 'POST'), 0)
const request = (id: number): Buffer => headersFrame(id, pseudoHeaders('/pub/x'))
const data = (id: number, flags = 0): Buffer => frame(FRAME.DATA, flags, id, Buffer.from('text'))
const reset = (id: number): Buffer => numberFrame(FRAME.RST_STREAM, id, CANCEL)
const widen = (id: number, bytes: number): Buffer => numberFrame(FRAME.WINDOW_UPDATE, id, bytes)
const ping = (flags: number): Buffer => frame(FRAME.PING, flags, 0, Buffer.alloc(8))
/** The frame that nghttp2 gets in place of a frame with a connection error. */
const GOAWAY = frame(FRAME.GOAWAY, 0, 0, Buffer.alloc(8))
const priority = (id: number, dependency: number): Buffer => {
  const payload = Buffer.alloc(5)
  payload.writeUInt32BE(dependency)
  return frame(FRAME.PRIORITY, 0, id, payload)
}

/** Frames after which the gateway must close the connection, and the code of GOAWAY. */
const ERRORS: readonly (readonly [name: string, code: number, frames: readonly Buffer[]])[] = [
  ['DATA after the end of the request', NGHTTP2_STREAM_CLOSED, [open(1), data(1, END_STREAM), data(1)]],
  ['DATA after RST_STREAM', NGHTTP2_STREAM_CLOSED, [open(1), reset(1), data(1)]],
  ['HEADERS after RST_STREAM', NGHTTP2_STREAM_CLOSED, [open(1), reset(1), request(1)]],
  ['HEADERS after the end of the request', NGHTTP2_STREAM_CLOSED, [request(1), request(1)]],
  ['a stream that the client skipped', NGHTTP2_PROTOCOL_ERROR, [request(7), request(5)]],
  ['PRIORITY without a stream', NGHTTP2_PROTOCOL_ERROR, [priority(0, 3)]],
  ['PRIORITY that depends on its own stream', NGHTTP2_PROTOCOL_ERROR, [priority(3, 3)]],
]

t.test('the gateway closes a connection with frames that RFC 9113 does not permit', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  under.upstream.reply((socket, { target }) => target === '/pub/x' && socket.write(OK_REPLY))
  for (const [name, code, frames] of ERRORS) {
    const client = await openFrameClient(under)
    client.write(...frames)
    const { payload } = await client.receive(FRAME.GOAWAY, 0)
    t.equal(payload.readUInt32BE(4), code, name)
  }
  t.match(await under.metrics(), /scopegate_http2_connection_failures_total\{[^}]*reason="protocol"\} 7\n/)
})

t.test('the gateway keeps a connection open after frames that RFC 9113 permits', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  under.upstream.reply((socket, { target }) => target === '/pub/x' && socket.write(OK_REPLY))
  const client = await openFrameClient(under)
  client.write(
    ...[ping(ACK), priority(0x7f, 3), open(3), data(3), headersFrame(3, [['x-checksum', 'a']])],
    ...[open(7), data(7), reset(7), reset(7), widen(7, 1), priority(7, 3), ping(ACK), request(9)],
  )
  t.equal((await client.receive(FRAME.HEADERS, 9)).flags & END_STREAM, 0)
  client.write(ping(0))
  t.equal((await client.receive(FRAME.PING, 0)).flags, ACK)
  t.equal(client.socket.destroyed, false)
  client.socket.destroy()
})

t.test('a window that is too large ends only its stream', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  under.upstream.reply((socket, { target }) => target === '/pub/x' && socket.write(OK_REPLY))
  const client = await openFrameClient(under)
  client.write(open(1), widen(1, MAX_WINDOW), request(3))
  const { payload } = await client.receive(FRAME.RST_STREAM, 1)
  t.equal(payload.readUInt32BE(0), NGHTTP2_FLOW_CONTROL_ERROR)
  await client.receive(FRAME.HEADERS, 3)
  t.equal(client.socket.destroyed, false)
  client.socket.destroy()
})

t.test('a client gets GOAWAY with the code of its error during a download', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const part = Buffer.alloc(65_536)
  under.upstream.reply((socket) => {
    const sendParts = (): void => {
      while (socket.write(part));
    }
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.on('drain', sendParts).on('error', () => undefined)
    sendParts()
  })
  const client = await openFrameClient(under, [[INITIAL_WINDOW_SIZE, MAX_WINDOW]])
  client.write(widen(0, MAX_WINDOW - 65_535), request(1))
  await client.receive(FRAME.DATA, 1)
  client.write(priority(0, 3))
  const { payload } = await client.receive(FRAME.GOAWAY, 0)
  t.equal(payload.readUInt32BE(4), NGHTTP2_PROTOCOL_ERROR)
})

type Checked = {
  readonly passed: Buffer
  /** Streams with errors, and the code of a connection error. */
  readonly errors: readonly number[]
}

/** Checks the frames of a client that sends `size` bytes in each packet. */
function checkFrames(
  frames: readonly Buffer[],
  size: number,
  sentBytes = 0,
  isShortBody: (id: number, bodyBytes: number) => boolean = () => false,
): Checked {
  const errors: number[] = []
  const checker = new ClientFrames({
    onWindowError: (id) => errors.push(id),
    isShortBody,
    sentBytes: () => sentBytes,
  })
  const bytes = Buffer.concat([PREFACE, ...frames])
  const passed: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) passed.push(...checker.check(bytes.subarray(at, at + size)))
  if (checker.connectionError !== undefined) errors.push(checker.connectionError)
  return { passed: Buffer.concat(passed), errors }
}

const passedBytes = (...frames: readonly Buffer[]): Buffer => Buffer.concat([PREFACE, ...frames])

t.test('the size of the packets does not change the result', async (t) => {
  const valid = [settingsFrame([[INITIAL_WINDOW_SIZE, 9]]), open(1), data(1), widen(1, 5), ping(0), data(1)]
  for (const size of [1, 2, 9, 10, 13, 1_000]) {
    t.same(checkFrames([...valid, ping(ACK), data(1)], size), {
      passed: passedBytes(...valid, data(1)),
      errors: [],
    })
    for (const [name, code, frames] of ERRORS)
      t.same(
        checkFrames([...frames, ping(0)], size),
        { passed: passedBytes(...frames.slice(0, -1), GOAWAY), errors: [code] },
        `${name}, ${size} bytes`,
      )
  }
})

t.test('nghttp2 gets the complete bytes of frames with a wrong size or stream', async (t) => {
  const short = frame(FRAME.WINDOW_UPDATE, 0, 1, Buffer.alloc(3))
  const frames = [
    frame(FRAME.PRIORITY, 0, 1, Buffer.alloc(2)),
    short,
    frame(FRAME.PING, ACK, 0),
    frame(FRAME.PING, ACK, 1, Buffer.alloc(8)),
  ]
  for (const size of [1, 1_000])
    t.same(checkFrames(frames, size), { passed: passedBytes(...frames), errors: [] })
})

t.test('nghttp2 gets all frames inside a header block that is not complete', async (t) => {
  const start = frame(FRAME.HEADERS, END_STREAM, 1, Buffer.alloc(4))
  const frames = [start, ping(ACK), frame(FRAME.CONTINUATION, 4, 1), ping(ACK)]
  // nghttp2 rejects the first PING frame, because it gets the frame.
  t.same(checkFrames(frames, 1_000).passed, passedBytes(...frames.slice(0, -1)))
})

t.test('the window of a stream has the initial size of the client, and loses the sent bytes', async (t) => {
  const rest = MAX_WINDOW - 65_535
  t.same(checkFrames([open(1), widen(1, rest)], 1_000).errors, [])
  t.same(checkFrames([open(1), widen(1, rest), widen(1, 1)], 1_000).errors, [1])
  t.same(checkFrames([open(1), widen(1, rest), widen(1, 1)], 1_000, 1).errors, [])
  t.same(checkFrames([open(1), open(3), widen(1, rest), widen(3, rest)], 1_000).errors, [])
  const zero = settingsFrame([
    [3, 100],
    [INITIAL_WINDOW_SIZE, 0],
  ])
  t.same(checkFrames([zero, open(1), widen(1, MAX_WINDOW)], 1_000).errors, [])
  t.same(checkFrames([zero, open(1), widen(1, MAX_WINDOW), widen(1, 1)], 1_000).errors, [1])
  const acknowledged = Buffer.from(zero)
  acknowledged.writeUInt8(ACK, 4)
  t.same(checkFrames([acknowledged, open(1), widen(1, MAX_WINDOW)], 1_000).errors, [1])
})

t.test('nghttp2 does not get the end of a short body', async (t) => {
  const isShortBody = (id: number, bodyBytes: number): boolean => id === 1 && bodyBytes === 8
  for (const size of [1, 1_000]) {
    const frames = (flags: number): Buffer[] => [open(1), open(3), data(1), data(3), data(1, flags)]
    t.same(checkFrames(frames(END_STREAM), size, 0, isShortBody).passed, passedBytes(...frames(0)))
  }
  for (const frames of [
    [open(1), data(1), data(1), data(1, END_STREAM)],
    [open(1), data(1, PADDED), data(1, END_STREAM)],
  ])
    t.same(checkFrames(frames, 1_000, 0, isShortBody).passed, passedBytes(...frames))
})

t.test('nghttp2 gets the window of a stream that the client has not opened', async (t) => {
  const frames = [open(1), widen(3, MAX_WINDOW)]
  t.same(checkFrames(frames, 1_000), { passed: passedBytes(...frames), errors: [] })
})

t.test('a connection with many streams remembers only the last streams', async (t) => {
  const requests = Array.from({ length: 101 }, (_, at) => request(2 * at + 1))
  t.same(checkFrames([...requests, data(1)], 1_000).errors, [])
  t.same(checkFrames([...requests, data(3)], 1_000).errors, [NGHTTP2_STREAM_CLOSED])
})
