import type { IncomingMessage } from 'node:http'

/** Whether a client waits for a go-ahead. HTTP/1.0 knows no interim answers. */
export function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
