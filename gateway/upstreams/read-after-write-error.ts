import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Socket, type TcpNetConnectOpts } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { READ_SHARED, readInto } from './http1/read-into.ts'

type Done = (error?: Error | null) => void

/**
 * Delays a write error of a socket until all received bytes have been read. An upstream may respond early and close the
 * connection while the gateway still sends the request body. The failed write must not destroy the connection before
 * the response has been read. RFC 9112 section 9.5.
 *
 * Node.js has no public option for this delay, so the function overrides private methods of the socket. The function
 * has an effect only where `canReadAfterWriteError()` returns `true`.
 */
export function readAfterWriteError(socket: Socket): void {
  let given: Done | undefined
  let held: Done | undefined
  // The stream passes the same callback to every write, so one wrapper per connection is enough.
  const hold = (done: Done): Done => {
    if (held === undefined || given !== done) {
      given = done
      held = (error) => {
        if (error === undefined || error === null) done()
        else failAfterLastRead(socket, error, done)
      }
    }
    return held
  }
  socket._write = (chunk, encoding, done) => Socket.prototype._write.call(socket, chunk, encoding, hold(done))
  socket._writev = (chunks, done) => writev.call(socket, chunks, hold(done))
}

const writev = Socket.prototype._writev as NonNullable<Socket['_writev']>

function failAfterLastRead(socket: Socket, error: NodeJS.ErrnoException, done: Done): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') {
    done(error)
    return
  }
  // The operating system reports a reset only once. The failed write has received this report, so a later read would
  // return a regular end.
  const { push } = socket
  socket.push = (chunk, encoding) => {
    if (chunk !== null) return push.call(socket, chunk, encoding)
    done(error)
    return false
  }
}

const REQUEST = 'request'
const RESPONSE = 'response'
/** Limit for the test, which usually takes a few milliseconds. */
const TEST_LIMIT_MS = 5_000

/**
 * Tests on a loopback connection whether `readAfterWriteError()` works in this version of Node.js. A peer responds and
 * resets the connection, a write fails, and then the client reads. The client must receive the response, then the error
 * of the write, but no regular end.
 * @param open opens the connection of the client.
 */
export async function canReadAfterWriteError(
  open: (options: TcpNetConnectOpts) => Socket = connect,
): Promise<boolean> {
  const signal = AbortSignal.timeout(TEST_LIMIT_MS)
  const server = createServer((socket) => socket.on('error', () => undefined))
  server.on('error', () => undefined)
  let client: Socket | undefined
  let peer: Socket | undefined
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening', { signal })
    client = open({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, onread: READ_SHARED })
    const events: (string | undefined)[] = []
    client.on('error', (error: NodeJS.ErrnoException) => events.push(error.syscall))
    client.on('end', () => events.push('end'))
    readInto(client, { receive: (bytes) => events.push(bytes.toString('latin1')) })
    readAfterWriteError(client)
    client.pause()
    const accepted = once(server, 'connection', { signal })
    ;[[peer]] = await Promise.all([accepted, once(client, 'connect', { signal })])
    client.write(REQUEST, () => events.push('written'))
    await respondAndReset(peer as Socket, signal)
    await writeUntilFailure(client, signal)
    if (client.destroyed) return false
    const over = Promise.race([once(client, 'end', { signal }), once(client, 'close', { signal })])
    client.resume()
    // `once()` rejects with the error of the socket.
    await over.catch(() => undefined)
    return events.join() === ['written', RESPONSE, 'write'].join()
  } catch {
    return false
  } finally {
    client?.destroy()
    peer?.destroy()
    server.close()
  }
}

async function respondAndReset(peer: Socket, signal: AbortSignal): Promise<void> {
  await once(peer, 'data', { signal })
  const closed = once(peer, 'close', { signal })
  peer.write(RESPONSE, () => peer.resetAndDestroy())
  await closed
}

/** Writes until a write fails. The first writes succeed, because the reset has not arrived yet. */
async function writeUntilFailure(socket: Socket, signal: AbortSignal): Promise<void> {
  for (let succeeds = true; succeeds && !socket.destroyed && !signal.aborted; ) {
    succeeds = false
    socket.write(REQUEST, (error) => {
      succeeds = error === undefined || error === null
    })
    await nextTurn()
  }
}
