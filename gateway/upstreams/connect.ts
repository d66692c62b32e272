import type { LookupFunction, Socket } from 'node:net'
import { buildConnector } from 'undici'
import { READ_SHARED } from './http1/read-into.ts'
import { readAfterWriteError } from './read-after-write-error.ts'

/**
 * Creates a connector for upstream connections. The connections use only HTTP/1.1 and verify certificates. The
 * connector reports a reset as an error, so that a reset is never the regular end of a response.
 * @param options.timeoutMs time limit for connection setup, including TLS.
 * @param options.ca trusted CA certificates in PEM. Default: the public CAs.
 * @param options.certificate client certificate and key in PEM. Default: no client certificate.
 * @param options.readsEarlyResponses whether the connector reads a response after a failed write of the request.
 * @param options.reading with `shared`, `readInto()` reads the sockets. With `stream`, the sockets are regular streams.
 */
export function createConnector(options: {
  readonly timeoutMs: number
  readonly lookup: LookupFunction | undefined
  readonly ca: string | undefined
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
  readonly readsEarlyResponses: boolean
  readonly reading: 'shared' | 'stream'
}): buildConnector.connector {
  const connect = buildConnector({
    timeout: options.timeoutMs,
    allowH2: false,
    rejectUnauthorized: true, // applies regardless of NODE_TLS_REJECT_UNAUTHORIZED
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.certificate === undefined
      ? {}
      : { cert: options.certificate.cert, key: options.certificate.key }),
    ...(options.reading === 'shared' ? { onread: READ_SHARED } : {}),
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
  })
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      // Add this listener before the listeners of the HTTP client. Otherwise a reset is the regular end of a response
      // without a length.
      socket.on('error', nameReset)
      if (options.readsEarlyResponses) readAfterWriteError(socket as Socket)
      callback(null, socket)
    })
}

function nameReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = 'ERR_UPSTREAM_RESET'
}
