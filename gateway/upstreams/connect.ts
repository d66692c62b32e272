import { type LookupFunction, Socket } from 'node:net'
import { buildConnector } from 'undici'
import { READ_SHARED } from './http1/read-into.ts'

/**
 * Makes connections to an upstream whose ends can be relied on: HTTP/1.1 only, certificates verified.
 * @param options.timeoutMs until the connection stands, TLS included.
 * @param options.ca the authorities that are believed, in PEM; undefined: the public ones.
 * @param options.reading `shared`: the sockets are read by `readInto()`; `stream`: as every other socket.
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
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.reading === 'shared' ? { onread: READ_SHARED } : {}),
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
  })
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      // Before the HTTP client's own listeners: they would take a reset for the end of an answer without a length.
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
 * An upstream may answer early and close while a body is on its way to it. The write that fails then must not take the
 * connection down before the answer has been read: the failure is told when there is nothing more to read.
 * RFC 9112 section 9.5.
 */
function readOnAfterWriteError(socket: Socket): void {
  let given: Done | undefined
  let held: Done | undefined
  // The stream gives the same callback to every write, so this makes one function per connection.
  const hold = (done: Done): Done => {
    if (held === undefined || given !== done) {
      given = done
      held = (error) => {
        if (error === undefined || error === null) done()
        else tellAtEnd(socket, error, done)
      }
    }
    return held
  }
  socket._write = (chunk, encoding, done) => Socket.prototype._write.call(socket, chunk, encoding, hold(done))
  socket._writev = (chunks, done) => writev.call(socket, chunks, hold(done))
}

const writev = Socket.prototype._writev as NonNullable<Socket['_writev']>

function tellAtEnd(socket: Socket, error: NodeJS.ErrnoException, done: Done): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') {
    done(error)
    return
  }
  // The system tells of a reset once. It was told to the write, so that the reader sees an end in good order.
  const { push } = socket
  socket.push = (chunk, encoding) => {
    if (chunk !== null) return push.call(socket, chunk, encoding)
    done(error)
    return false
  }
}
