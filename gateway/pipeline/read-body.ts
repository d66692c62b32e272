import type { IncomingMessage } from 'node:http'

export type ReadBody = { readonly bytes: Buffer } | 'too_large' | 'too_slow'

/**
 * Reads the body of a request, with a limit on its size and a deadline. Beyond a limit, the rest of the body is
 * drained. The connection stays open, and the caller decides when to close the connection. Copies each chunk into one
 * buffer: a chunk of one byte takes about 500 bytes of memory.
 * @returns the bytes; `too_large`; `too_slow`, which includes a connection that closes early.
 */
export function readBody(
  request: IncomingMessage,
  limits: { readonly limitBytes: number; readonly timeoutMs: number },
): Promise<ReadBody> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0)
    let size = 0
    const end = (outcome: ReadBody): void => {
      clearTimeout(deadline)
      request.off('data', take).off('end', whole).off('close', gone)
      request.resume()
      resolve(outcome)
    }
    const take = (chunk: Buffer): void => {
      const { limitBytes } = limits
      const needed = size + chunk.length
      if (needed > bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * needed, limitBytes))
      chunk.copy(bytes, size)
      size = needed
      if (size > limitBytes) end('too_large')
    }
    const whole = (): void => end({ bytes: bytes.subarray(0, size) })
    const gone = (): void => end('too_slow')
    const deadline = setTimeout(end, limits.timeoutMs, 'too_slow')
    request.on('data', take).on('end', whole).on('close', gone)
  })
}
