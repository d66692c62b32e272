import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { createConnector } from '../../../../gateway/upstreams/connect.ts'
import { ConnectionPool } from '../../../../gateway/upstreams/http1/connection-pool.ts'
import type {
  DispatchController,
  DispatchHandler,
  OutgoingRequest,
} from '../../../../gateway/upstreams/http1/dispatch.ts'
import { unlimitedConnections } from '../../../fixtures/unlimited-connections.ts'
import { until } from '../../../fixtures/until.ts'

type Heard = {
  statuses: number[]
  body: string
  pieces: number
  /** The text `end` for a complete response. Otherwise the error code. */
  outcome: string
  controller: DispatchController
}

async function start(t: Test, serve: (socket: Socket, head: string) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    let came = ''
    socket.on('data', (chunk) => {
      came += chunk.toString('latin1')
      for (let end = came.indexOf('\r\n\r\n'); end !== -1; end = came.indexOf('\r\n\r\n')) {
        const head = came.slice(0, end + 4)
        came = came.slice(end + 4)
        serve(socket, head)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connection = {
    timeoutMs: 20_000,
    lookup: undefined,
    certificate: undefined,
    ca: undefined,
    readsEarlyResponses: true,
  }
  const pool = new ConnectionPool(`http://127.0.0.1:${port}`, {
    connect: createConnector({ ...connection, reading: 'shared' }),
    connectPlainly: createConnector({ ...connection, reading: 'stream' }),
    idleMs: 60_000,
    connections: unlimitedConnections(),
  })
  t.teardown(async () => {
    await pool.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { pool, sockets }
}

function ask(pool: ConnectionPool, given: Partial<OutgoingRequest> = {}, onData?: (heard: Heard) => void) {
  const heard: Heard = { statuses: [], body: '', pieces: 0, outcome: '', controller: undefined as never }
  const over = new Promise<Heard>((resolve) => {
    const end = (outcome: string) => {
      heard.outcome += outcome
      resolve(heard)
    }
    heard.controller = pool.dispatch(
      {
        method: 'GET',
        path: '/',
        headers: [],
        body: undefined,
        idleTimeoutMs: 60_000,
        upgrade: false,
        ...given,
      },
      {
        onResponseStart: (_controller, status) => void heard.statuses.push(status),
        onResponseData: (_controller, chunk) => {
          heard.body += chunk.toString('latin1')
          heard.pieces += 1
          onData?.(heard)
        },
        onResponseText: (text) => {
          heard.body += text
          end('end')
        },
        onResponseEnd: () => end('end'),
        onResponseError: (_controller, error) => end('code' in error ? String(error.code) : String(error)),
        onRequestUpgrade: () => end('upgrade'),
        handlerFailed: (error) => end(`failed: ${error}`),
      },
    )
  })
  return { heard, over }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const nextRound = () => new Promise((resolve) => setImmediate(resolve))

t.test('ConnectionPool reuses a connection, and opens one connection per concurrent request', async (t) => {
  const { pool, sockets } = await start(t, (socket) => socket.write(OK))
  for (let i = 0; i < 5; i++) {
    t.match(await ask(pool).over, { statuses: [200], body: 'ok', outcome: 'end' })
    await nextRound()
  }
  t.equal(sockets.length, 1)
  await Promise.all(Array.from({ length: 8 }, () => ask(pool).over))
  t.equal(sockets.length, 8)
})

const ANSWERS: Readonly<Record<string, readonly [bytes: string, body: string, reused: boolean]>> = {
  'a length': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 'hello', true],
  chunks: [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\na: b\r\n\r\n',
    'hello',
    true,
  ],
  'no content': ['HTTP/1.1 204 No Content\r\n\r\n', '', true],
  'a 304 with the length of its representation': [
    'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
    '',
    false,
  ],
  'a 304 with a length of 0': ['HTTP/1.1 304 Not Modified\r\ncontent-length: 0\r\n\r\n', '', true],
  'a 204 that announces chunks': ['HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n', '', false],
  'a length of 0': ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', '', true],
  'an announced close': ['HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok', 'ok', false],
  'bytes after the response': [`${OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nPOISON`, 'ok', false],
  'an empty line after the response': [`${OK}\r\n`, 'ok', false],
  'bytes after its last chunk': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nx',
    'ok',
    false,
  ],
  'a 204 status and a body': ['HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok', '', false],
  'a body above the text limit': [
    `HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
    'x'.repeat(100_000),
    true,
  ],
  'a body above the text limit and more bytes': [
    `HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n${'x'.repeat(40_001)}`,
    'x'.repeat(40_000),
    false,
  ],
}

for (const [what, [bytes, body, reused]] of Object.entries(ANSWERS))
  for (const cut of [1, 7, 20_000])
    t.test(
      `a response with ${what} is complete, and its connection ${reused ? 'stays open' : 'closes'}, in pieces of ${cut} bytes`,
      async (t) => {
        if (cut * 3_000 < bytes.length) return
        const { pool, sockets } = await start(t, async (socket) => {
          for (let at = 0; at < bytes.length; at += cut) {
            socket.write(bytes.slice(at, at + cut), 'latin1')
            await nextRound()
          }
        })
        for (let i = 0; i < 3; i++) {
          const heard = await ask(pool).over
          t.equal(heard.outcome, 'end')
          t.ok(heard.body === body, 'the exact body')
          // Waits, so that bytes after the end of the response arrive on an idle connection.
          await until('all bytes are sent', async () => sockets.at(-1)?.writableLength === 0)
          for (let round = 0; round < 10; round++) await nextRound()
        }
        if (reused) t.equal(sockets.length, 1)
        else if (cut >= bytes.length || bytes.endsWith('\r\n\r\n')) t.equal(sockets.length, 3)
      },
    )

t.test('received bytes close an idle connection', async (t) => {
  const { pool, sockets } = await start(t, (socket) => socket.write(OK))
  await ask(pool).over
  await nextRound()
  sockets[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nPOISON')
  await once(sockets[0] as Socket, 'close')
  t.equal((await ask(pool).over).body, 'ok')
  t.equal(sockets.length, 2)
})

t.test(
  'a request is not sent on a connection that became idle in the same event loop iteration',
  async (t) => {
    const { pool, sockets } = await start(t, (socket) => socket.write(OK))
    let second: Promise<Heard> | undefined
    await new Promise<void>((resolve) => {
      pool.dispatch(
        { method: 'GET', path: '/', headers: [], body: undefined, idleTimeoutMs: 60_000, upgrade: false },
        {
          onResponseStart: () => undefined,
          onResponseData: () => undefined,
          onResponseText: () => {
            second = ask(pool).over
            resolve()
          },
          onResponseEnd: () => undefined,
          onResponseError: () => undefined,
          onRequestUpgrade: () => undefined,
          handlerFailed: () => undefined,
        },
      )
    })
    t.equal((await second)?.body, 'ok')
    t.equal(sockets.length, 2)
  },
)

t.test('the connection of a HEAD request is not reused', async (t) => {
  const { pool, sockets } = await start(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'),
  )
  t.match(await ask(pool, { method: 'HEAD' }).over, { body: '', outcome: 'end' })
  await nextRound()
  t.match(await ask(pool, { method: 'HEAD' }).over, { outcome: 'end' })
  t.equal(sockets.length, 2)
})

t.test('a response without a length is complete when its connection ends cleanly', async (t) => {
  const { pool } = await start(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'))
  t.match(await ask(pool).over, { body: 'hello', outcome: 'end' })
})

const BROKEN: Readonly<Record<string, readonly [bytes: string, code: string]>> = {
  nothing: ['', 'ERR_UPSTREAM_RESET'],
  'half a head': ['HTTP/1.1 200 OK\r\ncontent-le', 'ERR_UPSTREAM_RESET'],
  'half a body': ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', 'ERR_UPSTREAM_RESET'],
  'without its last chunk': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    'ERR_UPSTREAM_RESET',
  ],
  'half a trailer': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: b\r\n',
    'ERR_UPSTREAM_RESET',
  ],
  'only an interim response': ['HTTP/1.1 103 Early Hints\r\n\r\n', 'ERR_UPSTREAM_RESET'],
  'another protocol': ['SSH-2.0-x\r\n', 'ERR_UPSTREAM_PROTOCOL'],
  'an unsolicited protocol switch': ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'ERR_UPSTREAM_PROTOCOL'],
  'an endless head': [`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(10_000)}`, 'ERR_UPSTREAM_PROTOCOL'],
  'shorter than its length, with an announced close': [
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\nhalf',
    'ERR_UPSTREAM_RESET',
  ],
}

for (const [what, [bytes, code]] of Object.entries(BROKEN))
  t.test(`a response that is ${what} is rejected`, async (t) => {
    const { pool, sockets } = await start(t, (socket) => socket.end(bytes, 'latin1'))
    t.equal((await ask(pool).over).outcome, code)
    await until('its connection has ended', async () => sockets[0]?.destroyed === true)
  })

t.test('every interim response is reported', async (t) => {
  const { pool, sockets } = await start(t, (socket) =>
    socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}`),
  )
  t.match(await ask(pool).over, { statuses: [100, 103, 200], body: 'ok', outcome: 'end' })
  await nextRound()
  await ask(pool).over
  t.equal(sockets.length, 1)
})

t.test('a paused reader gets no data until it resumes, with chunks of any size', async (t) => {
  const chunks = 5_000
  const { pool } = await start(t, (socket) =>
    socket.write(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`,
    ),
  )
  let paused = 0
  const { over } = ask(pool, {}, (heard) => {
    heard.controller.pause()
    const before = heard.pieces
    setImmediate(() => {
      if (heard.pieces === before) paused += 1
      heard.controller.resume()
    })
  })
  t.match(await over, { pieces: chunks, outcome: 'end' })
  t.equal(paused, chunks)
})

t.test('a stall within a response ends the exchange', async (t) => {
  const { pool } = await start(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
  )
  t.match(await ask(pool, { idleTimeoutMs: 300 }).over, { body: 'half', outcome: 'ERR_UPSTREAM_IDLE' })
})

t.test('an abort closes the connection, and no further event is reported', async (t) => {
  const { pool, sockets } = await start(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
  )
  const { heard } = ask(pool)
  await until('its first piece', async () => heard.body === 'half')
  heard.controller.abort()
  await once(sockets[0] as Socket, 'close')
  t.equal(heard.outcome, '')
})

t.test('after an abort before the connection is open, the pool sends no bytes', async (t) => {
  let heads = 0
  const { pool } = await start(t, (socket) => {
    heads += 1
    socket.write(OK)
  })
  ask(pool).heard.controller.abort()
  const { heard } = ask(pool)
  await nextRound()
  heard.controller.abort()
  t.match(await ask(pool).over, { outcome: 'end' })
  t.equal(heads, 1)
})

t.test('a controller cannot affect the next exchange on its connection', async (t) => {
  const { pool } = await start(t, (socket) => socket.write(OK))
  const first = await ask(pool).over
  await nextRound()
  const { over } = ask(pool)
  await nextRound()
  first.controller.pause()
  first.controller.abort()
  t.match(await over, { body: 'ok', outcome: 'end' })
})

t.test('a body is sent in chunks, or with exactly the announced length', async (t) => {
  let came = ''
  const { pool, sockets } = await start(t, (socket) => {
    socket.removeAllListeners('data')
    socket.on('data', (chunk) => {
      came += chunk.toString('latin1')
      if (came.endsWith('0\r\n\r\n')) socket.write(OK)
    })
  })
  const chunked = new PassThrough()
  const sending = ask(pool, { method: 'POST', body: chunked })
  await until('a connection', async () => sockets.length === 1)
  chunked.write('hello')
  chunked.end('x'.repeat(17))
  t.match(await sending.over, { outcome: 'end' })
  t.match(came, /5\r\nhello\r\n11\r\nx{17}\r\n0\r\n\r\n$/)
  for (const body of ['long', 'longer'.repeat(3)]) {
    const given = new PassThrough()
    given.end(body)
    const { outcome } = await ask(pool, { method: 'POST', body: given, headers: ['content-length', '10'] })
      .over
    t.equal(outcome, 'ERR_UPSTREAM_UNFORWARDABLE')
  }
  const failing = new PassThrough()
  const failed = ask(pool, { method: 'POST', body: failing })
  failing.write('half')
  await until('a connection', async () => sockets.length === 3)
  failing.destroy(new Error('gone'))
  t.equal((await failed.over).outcome, 'Error: gone')
})

t.test('a response before the end of the request body is complete, and the connection closes', async (t) => {
  const { pool, sockets } = await start(t, (socket) =>
    socket.write('HTTP/1.1 413 No\r\ncontent-length: 3\r\n\r\nbig'),
  )
  const body = new PassThrough()
  body.write('x')
  t.match(await ask(pool, { method: 'POST', body }).over, { statuses: [413], body: 'big', outcome: 'end' })
  await once(sockets[0] as Socket, 'close')
})

t.test('the pool closes a connection before the upstream does', async (t) => {
  const { pool, sockets } = await start(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'),
  )
  await ask(pool).over
  await nextRound()
  await ask(pool).over
  t.equal(sockets.length, 2)
})

t.test('close() waits for exchanges in progress, and destroy() does not', async (t) => {
  let answer: (() => void) | undefined
  const { pool } = await start(t, (socket) => {
    answer = () => socket.write(OK)
  })
  const { over } = ask(pool)
  await until('the request', async () => answer !== undefined)
  let closed = false
  const closing = pool.close().then(() => (closed = true))
  await nextRound()
  t.notOk(closed)
  await t.rejects(ask(pool).over, { code: 'ERR_UPSTREAM_CLOSED' })
  answer?.()
  t.match(await over, { body: 'ok', outcome: 'end' })
  await closing

  const other = await start(t, () => undefined)
  const queued = ask(other.pool)
  await other.pool.destroy()
  t.equal((await queued.over).outcome, 'ERR_UPSTREAM_CLOSED')
  const third = await start(t, () => undefined)
  const sent = ask(third.pool)
  await until('a connection', async () => third.sockets.length === 1)
  await third.pool.destroy()
  t.equal((await sent.over).outcome, 'ERR_UPSTREAM_CLOSED')
})

const failHandler = (): never => {
  throw new Error('a defect')
}
const FAILING: Readonly<
  Record<string, readonly [callback: Partial<DispatchHandler>, bytes: string, upgrade?: true]>
> = {
  'a head': [{ onResponseStart: failHandler }, OK],
  'an interim head': [{ onResponseStart: failHandler }, `HTTP/1.1 103 Early Hints\r\n\r\n${OK}`],
  'a part of a body': [{ onResponseData: failHandler }, 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
  'a paused part of a body': [
    {
      onResponseData: (controller) => {
        controller.pause()
        setImmediate(() => controller.resume())
      },
      onResponseEnd: failHandler,
    },
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n1\r\nx\r\n0\r\n\r\n',
  ],
  'a body as text': [{ onResponseText: failHandler }, OK],
  'the end of an empty body': [{ onResponseEnd: failHandler }, 'HTTP/1.1 204 No Content\r\n\r\n'],
  'the end of a connection': [{ onResponseEnd: failHandler }, 'HTTP/1.1 200 OK\r\n\r\nFIN'],
  'an error': [{ onResponseError: failHandler }, 'SSH-2.0-x\r\n'],
  'a protocol switch': [
    { onRequestUpgrade: failHandler },
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    true,
  ],
}

for (const [what, [callback, bytes, upgrade = false]] of Object.entries(FAILING))
  t.test(`an exception of the handler during ${what} ends only its own exchange`, async (t) => {
    let respond: (() => void) | undefined
    const { pool, sockets } = await start(t, (socket, head) => {
      if (!head.includes('/failing')) respond = () => socket.write(OK)
      else if (bytes.endsWith('FIN')) socket.end(bytes)
      else socket.write(bytes)
    })
    const other = ask(pool)
    await until('the other request', async () => respond !== undefined)
    const failures: unknown[] = []
    const failed = new Promise<void>((resolve) => {
      const handler: DispatchHandler = {
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseText: () => undefined,
        onResponseEnd: () => undefined,
        onResponseError: (_controller, error) => failures.push(error),
        onRequestUpgrade: () => undefined,
        handlerFailed(error) {
          failures.push(error)
          resolve()
        },
        ...callback,
      }
      pool.dispatch(
        { method: 'GET', path: '/failing', headers: [], body: undefined, idleTimeoutMs: 60_000, upgrade },
        handler,
      )
    })
    await failed
    await until('its connection has ended', async () => sockets.at(-1)?.destroyed === true)
    t.match(failures, [{ message: 'a defect' }])
    respond?.()
    t.match(await other.over, { statuses: [200], body: 'ok', outcome: 'end' })
    t.equal(sockets.length, 2)
  })
