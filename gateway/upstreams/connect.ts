import { type LookupFunction, Socket } from 'node:net'
import { buildConnector } from 'undici'
import { READ_SHARED } from './http1/read-into.ts'

/**
 * Creates a connector for upstream connections: HTTP/1.1 only, certificates verified. A reset is reported as an error,
 * because a regular end would look like the end of a response.
 * @param options.timeoutMs limit for connection setup, including TLS.
 * @param options.ca trusted CA certificates in PEM; `undefined`: the public CAs.
 * @param options.reading `shared`: `readInto()` reads the sockets; `stream`: the sockets are regular streams.
 */
export function createConnector(options: {
  readonly timeoutMs: number
  readonly lookup: LookupFunction | undefined
  readonly ca: string | undefined
  readonly reading: 'shared' | 'stream'
}): buildConnector.connector {
  const connect = buildConnector({
    timeout: options.timeoutMs,
    allowH2: false,
    rejectUnauthorized: true, // regardless of NODE_TLS_REJECT_UNAUTHORIZED
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.reading === 'shared' ? { onread: READ_SHARED } : {}),
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
  })
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      // This listener must be added before the listeners of the HTTP client. Otherwise a reset would look like the
      // regular end of a response without a length.
      socket.on('error', nameReset)
      readOnAfterWriteError(socket)
      callback(null, socket)
    })
}

function nameReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = 'ERR_UPSTREAM_RESET'
}

type Done = (error?: Error | null) => void

/**
 * Delays a write error until all received bytes have been read. An upstream may respond early and close the connection
 * while the gateway still sends the request body. The failed write must not destroy the connection before the response
 * has been read. RFC 9112 section 9.5.
 */
function readOnAfterWriteError(socket: Socket): void {
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
  // The operating system reports a reset only once. The write has received this report, so the reader would see a
  // regular end.
  const { push } = socket
  socket.push = (chunk, encoding) => {
    if (chunk !== null) return push.call(socket, chunk, encoding)
    done(error)
    return false
  }
}
