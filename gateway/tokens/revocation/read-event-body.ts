import type { IncomingMessage } from 'node:http'

/**
 * Reads the body of a request up to a limit and for a while. What is more, or comes later, is nobody's: the connection
 * goes on, and whoever answers decides on its end.
 * @returns the bytes as Latin-1; `too_large`, `too_slow`.
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
