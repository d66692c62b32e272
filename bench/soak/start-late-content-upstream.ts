import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Cleanup } from '../cleanup.ts'
import { randomBelow } from './random.ts'

/**
 * Response heads that announce content, although these responses cannot have content. RFC 9110 sections 9.3.2, 15.2,
 * 15.3.5, 15.4.5.
 */
export const LATE_CONTENT = {
  '204 with a length': { method: 'GET', status: '204 No Content', framing: 'length' },
  '204 in chunks': { method: 'GET', status: '204 No Content', framing: 'chunked' },
  '304 with a length': { method: 'GET', status: '304 Not Modified', framing: 'length' },
  '304 in chunks': { method: 'GET', status: '304 Not Modified', framing: 'chunked' },
  'HEAD with a length': { method: 'HEAD', status: '200 OK', framing: 'length' },
  'HEAD in chunks': { method: 'HEAD', status: '200 OK', framing: 'chunked' },
  '102 with a length': { method: 'GET', status: '102 Processing', framing: 'length' },
  '103 with a length': { method: 'GET', status: '103 Early Hints', framing: 'length' },
  '103 in chunks': { method: 'GET', status: '103 Early Hints', framing: 'chunked' },
} as const
export type LateContent = keyof typeof LATE_CONTENT

const LONGEST_DELAY_MS = 6

/**
 * Starts an upstream for `?n=<nonce>&kind=<LateContent>`. Every response contains the nonce of its request. With
 * `kind`, the upstream sends a head of that kind. Some milliseconds later, the upstream sends the content. The content
 * is itself a complete response. After the content of an interim response, the final response follows. Without `kind`,
 * the upstream sends one correct response.
 */
export async function startLateContentUpstream(cleanup: Cleanup): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined) // the gateway closes connections with late content
    let received = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
      for (let end = received.indexOf('\r\n\r\n'); end !== -1; end = received.indexOf('\r\n\r\n')) {
        const { searchParams } = new URL(received.split(' ')[1] ?? '/', 'http://a')
        received = received.slice(end + 4)
        reply(socket, searchParams.get('n') ?? '', searchParams.get('kind') as LateContent | null)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function reply(socket: Socket, nonce: string, kind: LateContent | null): void {
  const own = response(nonce)
  if (kind === null) {
    socket.write(own, 'latin1')
    return
  }
  const { status, framing } = LATE_CONTENT[kind]
  const stray = response(`stray-${nonce}`)
  const announced = framing === 'length' ? `content-length: ${stray.length}` : 'transfer-encoding: chunked'
  socket.write(`HTTP/1.1 ${status}\r\nx-nonce: ${nonce}\r\n${announced}\r\n\r\n`, 'latin1')
  const late = status.startsWith('1') ? stray + own : stray
  setTimeout(() => {
    if (socket.writable) socket.write(late, 'latin1')
  }, randomBelow(LONGEST_DELAY_MS))
}

function response(nonce: string): string {
  return `HTTP/1.1 200 OK\r\nx-nonce: ${nonce}\r\ncontent-length: ${nonce.length}\r\n\r\n${nonce}`
}
