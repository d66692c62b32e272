import type { IncomingMessage } from 'node:http'
import { LimitedBuffer } from '../../platform/net/limited-buffer.ts'

export type ReadBody = { readonly bytes: Buffer } | 'too_large' | 'too_slow'

/**
 * Reads the body of a request, with a limit on its size and a deadline. Beyond a limit, the rest of the body is
 * drained. The connection stays open, and the caller decides when to close the connection.
 * @returns the bytes; `too_large`; `too_slow`, which includes a connection that closes early.
 */
export function readBody(
  request: IncomingMessage,
  limits: { readonly limitBytes: number; readonly timeoutMs: number },
): Promise<ReadBody> {
  return new Promise((resolve) => {
    const bytes = new LimitedBuffer(limits.limitBytes)
    const end = (outcome: ReadBody): void => {
      clearTimeout(deadline)
      request.off('data', take).off('end', whole).off('close', gone)
      request.resume()
      resolve(outcome)
    }
    const take = (chunk: Buffer): void => {
      if (!bytes.add(chunk)) end('too_large')
    }
    const whole = (): void => end({ bytes: bytes.content })
    const gone = (): void => end('too_slow')
    const deadline = setTimeout(end, limits.timeoutMs, 'too_slow')
    request.on('data', take).on('end', whole).on('close', gone)
  })
}
