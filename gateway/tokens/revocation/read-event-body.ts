import type { IncomingMessage } from 'node:http'

/**
 * Reads the body of a request, with a limit on its size and a deadline. Beyond a limit, the rest of the body is
 * drained. The connection stays open, and the caller decides when to close it.
 * @returns the bytes as Latin-1; `too_large`; `too_slow`, also when the connection closes early.
 */
export function readBody(
  request: IncomingMessage,
  limits: { readonly limitBytes: number; readonly timeoutMs: number },
): Promise<{ readonly text: string } | 'too_large' | 'too_slow'> {
  return new Promise((resolve) => {
    let text = ''
    const end = (outcome: { readonly text: string } | 'too_large' | 'too_slow'): void => {
      clearTimeout(deadline)
      request.off('data', take).off('end', whole).off('close', gone)
      request.resume()
      resolve(outcome)
    }
    const take = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      if (text.length > limits.limitBytes) end('too_large')
    }
    const whole = (): void => end({ text })
    const gone = (): void => end('too_slow')
    const deadline = setTimeout(end, limits.timeoutMs, 'too_slow')
    request.on('data', take).on('end', whole).on('close', gone)
  })
}
