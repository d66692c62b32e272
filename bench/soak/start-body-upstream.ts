import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import type { Cleanup } from '../cleanup.ts'

const PIECE = Buffer.alloc(64 * 1024, 'x')

/**
 * Starts an upstream that responds to `?bytes=N` with N bytes, at the speed of the client. For a request with a body,
 * the response contains the number of received bytes.
 * @returns the address of the upstream.
 */
export async function startBodyUpstream(
  cleanup: Cleanup,
  onRequest?: (target: string) => void,
): Promise<string> {
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    onRequest?.(request.url ?? '')
    let received = 0
    request.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    request.on('end', () => {
      const bytes = Number(new URL(request.url ?? '/', 'http://a').searchParams.get('bytes') ?? -1)
      if (bytes === -1) {
        response.end(String(received))
        return
      }
      response.writeHead(200, { 'content-length': bytes })
      pipeline(pieces(bytes), response, () => undefined) // a client disconnect is not a failure of the upstream
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Creates a stream of this number of bytes. The stream creates each piece on demand. */
export function pieces(bytes: number): Readable {
  let left = bytes
  return new Readable({
    highWaterMark: PIECE.length,
    read() {
      if (left === 0) {
        this.push(null)
        return
      }
      const piece = left < PIECE.length ? PIECE.subarray(0, left) : PIECE
      left -= piece.length
      this.push(piece)
    },
  })
}
