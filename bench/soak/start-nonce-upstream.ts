import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Cleanup } from '../cleanup.ts'
import { randomBelow } from './random.ts'
import { repeatNonce } from './repeat-nonce.ts'

export type NonceUpstream = {
  readonly url: string
  /** Number of complete requests. */
  readonly requests: number
  /** Requests in which query, header and body have different nonces. */
  readonly problems: readonly string[]
  /** Number of nonces that the upstream received more than once. */
  readonly repeated: number
  /** Returns whether the upstream received the complete request with this nonce. */
  saw(nonce: string): boolean
}

const MOST_PIECES = 4
const LONGEST_WAIT_MS = 20

/**
 * Starts an upstream that responds to `?n=<nonce>&bytes=<size>&framing=length|chunked`. A header of the response
 * contains the nonce, and the body repeats the nonce. The upstream responds after a short time, sometimes in pieces.
 */
export async function startNonceUpstream(cleanup: Cleanup): Promise<NonceUpstream> {
  const problems: string[] = []
  const seen = new Set<string>()
  let requests = 0
  let repeated = 0

  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const chunks: string[] = []
    request.setEncoding('latin1').on('data', (chunk: string) => chunks.push(chunk))
    request.on('error', () => undefined) // the client disconnected during its body
    request.on('end', () => {
      const body = chunks.join('')
      const query = new URL(request.url ?? '/', 'http://a').searchParams
      const nonce = query.get('n') ?? ''
      requests += 1
      if (seen.has(nonce)) repeated += 1
      seen.add(nonce)
      if (
        request.headers['x-nonce'] !== nonce ||
        Number(request.headers['x-bytes']) !== body.length ||
        body !== repeatNonce(nonce, body.length)
      )
        problems.push(`${request.url} ${JSON.stringify(request.headers)} ${body.slice(0, 200)}`)
      answer(request, response, { nonce, query }).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    problems,
    saw: (nonce) => seen.has(nonce),
    get requests() {
      return requests
    },
    get repeated() {
      return repeated
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { nonce, query }: { readonly nonce: string; readonly query: URLSearchParams },
): Promise<void> {
  if (Math.random() < 0.4) await wait(randomBelow(LONGEST_WAIT_MS))
  const body = repeatNonce(nonce, Number(query.get('bytes')))
  response.writeHead(200, {
    'x-nonce': nonce,
    ...(query.get('framing') === 'length' ? { 'content-length': body.length } : {}),
  })
  if (request.method === 'HEAD' || Math.random() < 0.6) {
    response.end(request.method === 'HEAD' ? undefined : body, 'latin1')
    return
  }
  const size = Math.ceil(body.length / (1 + randomBelow(MOST_PIECES))) || 1
  for (let at = 0; at < body.length && !response.destroyed; at += size) {
    response.write(body.slice(at, at + size), 'latin1')
    await wait(randomBelow(4))
  }
  response.end()
}
