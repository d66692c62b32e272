import type { IncomingMessage } from 'node:http'

/** Returns whether the client waits for a 100 response. HTTP/1.0 has no interim responses. */
export function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
