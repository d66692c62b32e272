import type { IncomingHttpHeaders } from 'node:http'
import { LimitedBuffer } from '../../platform/net/limited-buffer.ts'
import type { ConnectionPool } from './http1/connection-pool.ts'
import type { DispatchController, DispatchHandler } from './http1/dispatch.ts'
import { MAX_INTERIM_RESPONSES } from './http1/response-head.ts'
import { UpstreamError } from './http1/upstream-error.ts'

export type ReadResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body. Undefined: the body is larger than the limit. */
  readonly body: Buffer | undefined
}

/**
 * Sends a GET request of the gateway itself and reads the response.
 * @param request.limitBytes maximum length of the body. The gateway does not read the rest of a larger body.
 * @throws {Error} by rejection. After `timeoutMs`, the code is ERR_UPSTREAM_IDLE.
 */
export function readResponse(
  pool: ConnectionPool,
  request: {
    readonly path: string
    readonly headers: readonly string[]
    readonly timeoutMs: number
    readonly limitBytes: number
  },
): Promise<ReadResponse> {
  const { path, headers, timeoutMs, limitBytes } = request
  return new Promise((resolve, reject) => {
    // After a delay of the event loop, the response can be there when the timer fires. `setImmediate` runs after the
    // poll phase, which reads such a response.
    const timer = setTimeout(() => setImmediate(expire), timeoutMs).unref()
    let controller: DispatchController | undefined
    let head = { status: 0, headers: {} as IncomingHttpHeaders }
    const bytes = new LimitedBuffer(limitBytes)
    let interimResponses = 0
    function end(): void {
      clearTimeout(timer)
      resolve({ ...head, body: bytes.content })
    }
    function fail(error: unknown): void {
      clearTimeout(timer)
      reject(error instanceof Error ? error : new Error(String(error)))
    }
    function expire(): void {
      controller?.abort()
      fail(new UpstreamError('ERR_UPSTREAM_IDLE', `no complete response within ${timeoutMs} ms`))
    }
    const handler: DispatchHandler = {
      onResponseStart(_controller, status, received) {
        if (status < 200) interimResponses += 1
        if (interimResponses > MAX_INTERIM_RESPONSES) throw new RangeError('too many interim responses')
        head = { status, headers: received }
      },
      onResponseData(_controller, chunk) {
        if (bytes.add(chunk)) return
        clearTimeout(timer)
        resolve({ ...head, body: undefined })
        controller?.abort()
      },
      onResponseText(text) {
        bytes.add(Buffer.from(text, 'latin1'))
        end()
      },
      onResponseEnd: end,
      onResponseError: (_controller, error) => fail(error),
      onRequestUpgrade(_controller, status, received, socket) {
        socket.destroy()
        head = { status, headers: received }
        end()
      },
      handlerFailed: fail,
    }
    try {
      controller = pool.dispatch(
        { method: 'GET', path, headers, body: undefined, idleTimeoutMs: timeoutMs, upgrade: false },
        handler,
      )
    } catch (error) {
      fail(error)
    }
  })
}
