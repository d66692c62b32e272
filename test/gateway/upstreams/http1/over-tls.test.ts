import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import t, { type Test } from 'tap'
import { createConnector } from '../../../../gateway/upstreams/connect.ts'
import { ConnectionPool } from '../../../../gateway/upstreams/http1/connection-pool.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { unlimitedConnections } from '../../../fixtures/unlimited-connections.ts'

const BYTES = 3_000_000
const CERTIFICATE = aCertificate({ names: ['localhost'] })

async function start(t: Test, hostname: string, ca?: string) {
  const server = createServer({ cert: CERTIFICATE.cert, key: CERTIFICATE.key }, (socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      if (chunk.toString().startsWith('GET /large')) {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${BYTES}\r\n\r\n`)
        socket.write(Buffer.alloc(BYTES, 'x'))
      } else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const connection = {
    timeoutMs: 20_000,
    lookup: undefined,
    certificate: undefined,
    ca,
    readsEarlyResponses: true,
  }
  const pool = new ConnectionPool(`https://${hostname}:${(server.address() as AddressInfo).port}`, {
    connect: createConnector({ ...connection, reading: 'shared' }),
    connectPlainly: createConnector({ ...connection, reading: 'stream' }),
    idleMs: 60_000,
    connections: unlimitedConnections(),
  })
  t.teardown(async () => {
    await pool.destroy()
    server.close()
  })
  return pool
}

function ask(pool: ConnectionPool, path: string): Promise<string> {
  let bytes = 0
  return new Promise((resolve) =>
    pool.dispatch(
      { method: 'GET', path, headers: [], body: undefined, idleTimeoutMs: 60_000, upgrade: false },
      {
        onResponseStart: () => undefined,
        onResponseData: (controller, chunk) => {
          bytes += chunk.length
          if (!chunk.every((byte) => byte === 0x78)) resolve('other bytes')
          controller.pause()
          setImmediate(() => controller.resume())
        },
        onResponseText: resolve,
        onResponseEnd: () => resolve(String(bytes)),
        onResponseError: (_controller, error) =>
          resolve('code' in error ? String(error.code) : String(error)),
        onRequestUpgrade: () => undefined,
        handlerFailed: (error) => resolve(String(error)),
      },
    ),
  )
}

t.test('an untrusted certificate fails the request', async (t) => {
  t.equal(await ask(await start(t, 'localhost'), '/'), 'DEPTH_ZERO_SELF_SIGNED_CERT')
})

t.test('ConnectionPool uses TLS with backpressure, and checks the name in the certificate', async (t) => {
  const pool = await start(t, 'localhost', CERTIFICATE.cert)
  t.equal(await ask(pool, '/'), 'ok')
  t.same(await Promise.all([ask(pool, '/large'), ask(pool, '/large'), ask(pool, '/'), ask(pool, '/large')]), [
    String(BYTES),
    String(BYTES),
    'ok',
    String(BYTES),
  ])
  t.equal(await ask(await start(t, '127.0.0.1', CERTIFICATE.cert), '/'), 'ERR_TLS_CERT_ALTNAME_INVALID')
})
