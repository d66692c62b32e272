import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { createConnector } from '../../../gateway/upstreams/connect.ts'
import { ConnectionPool } from '../../../gateway/upstreams/http1/connection-pool.ts'
import { unlimitedConnections } from '../../fixtures/unlimited-connections.ts'

const CONNECTION = { timeoutMs: 20_000, lookup: undefined, certificate: undefined, ca: undefined }

/**
 * A server that sends a response and a reset while the main thread is blocked. The server runs in a separate thread.
 */
const EARLY_ANSWERER = `
const { parentPort, workerData } = require('node:worker_threads')
const flag = new Int32Array(workerData.flag)
require('node:net').createServer((socket) => {
  socket.on('error', () => undefined)
  socket.once('data', () => {
    socket.pause()
    parentPort.postMessage('the body has begun')
    Atomics.wait(flag, 0, 0)
    socket.write(workerData.answer, () => {
      socket.once('close', () => { Atomics.store(flag, 1, 1); Atomics.notify(flag, 1) })
      socket.resetAndDestroy()
    })
  })
}).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port) })`

type Outcome = { status: number; body: string; error: string | undefined }

/**
 * Sends a body. A response and a reset arrive before the end of the body. The next write fails, because the connection
 * is broken.
 */
async function sendInto(answer: string, readsEarlyResponses = true): Promise<Outcome> {
  const flag = new SharedArrayBuffer(8)
  const view = new Int32Array(flag)
  const worker = new Worker(EARLY_ANSWERER, { eval: true, workerData: { flag, answer } })
  const [port] = await once(worker, 'message')
  const pool = new ConnectionPool(`http://127.0.0.1:${port}`, {
    connect: createConnector({ ...CONNECTION, readsEarlyResponses, reading: 'shared' }),
    connectPlainly: createConnector({ ...CONNECTION, readsEarlyResponses, reading: 'stream' }),
    idleMs: 1_000,
    connections: unlimitedConnections(),
  })
  const body = new PassThrough()
  const outcome: Outcome = { status: 0, body: '', error: undefined }
  const over = new Promise<void>((resolve) => {
    pool.dispatch(
      {
        method: 'POST',
        path: '/',
        body,
        headers: ['content-length', '1000000'],
        idleTimeoutMs: 60_000,
        upgrade: false,
      },
      {
        onResponseStart: (_controller, status) => {
          outcome.status = status
        },
        onResponseData: (_controller, chunk) => {
          outcome.body += chunk.toString()
        },
        onResponseText: (text) => {
          outcome.body += text
          resolve()
        },
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => {
          outcome.error = 'code' in error ? String(error.code) : error.message
          resolve()
        },
        onRequestUpgrade: () => undefined,
        handlerFailed: () => undefined,
      },
    )
  })
  body.write(Buffer.alloc(1_000))
  await once(worker, 'message')
  // While the main thread is blocked, the operating system buffers the response and the reset.
  Atomics.store(view, 0, 1)
  Atomics.notify(view, 0)
  Atomics.wait(view, 1, 0, 60_000)
  body.write(Buffer.alloc(1_000))
  body.write(Buffer.alloc(1_000))
  await over
  await pool.destroy()
  await worker.terminate()
  return outcome
}

t.test(
  'createConnector() reads a response when the sender resets the connection during the request body',
  async (t) => {
    const outcome = await sendInto(
      'HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig',
    )
    t.same(outcome, { status: 413, body: 'big', error: undefined })
  },
)

t.test(
  'createConnector() does not accept a response without a length as complete after a reset',
  async (t) => {
    const outcome = await sendInto('HTTP/1.1 413 Content Too Large\r\nconnection: close\r\n\r\nhal')
    t.match(outcome, { status: 413, body: 'hal', error: /RESET|EPIPE|ECONNRESET/ })
  },
)

t.test('createConnector() loses an early response if readsEarlyResponses is false', async (t) => {
  const outcome = await sendInto(
    'HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig',
    false,
  )
  t.match(outcome, { status: 0, body: '', error: /RESET|EPIPE|ECONNRESET/ })
})
