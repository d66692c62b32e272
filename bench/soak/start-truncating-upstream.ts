import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Cleanup } from '../cleanup.ts'
import { randomBelow } from './random.ts'

/** Endings of a response. With `whole: true`, the response is complete. */
export const CUTS = {
  'complete, with Content-Length': { whole: true, framing: 'length', stop: 'none' },
  'complete, in chunks': { whole: true, framing: 'chunked', stop: 'none' },
  'ends before its Content-Length, FIN': { whole: false, framing: 'length', stop: 'end' },
  'ends before its Content-Length, RST': { whole: false, framing: 'length', stop: 'reset' },
  'ends in a chunk, FIN': { whole: false, framing: 'chunked', stop: 'end' },
  'ends in a chunk, RST': { whole: false, framing: 'chunked', stop: 'reset' },
  'ends without a last chunk, FIN': { whole: false, framing: 'between', stop: 'end' },
  'ends without a last chunk, RST': { whole: false, framing: 'between', stop: 'reset' },
  'ends in the last chunk, FIN': { whole: false, framing: 'last', stop: 'end' },
  'has an invalid chunk': { whole: false, framing: 'junk', stop: 'none' },
  'ends in the head, FIN': { whole: false, framing: 'head', stop: 'end' },
  'ends in the head, RST': { whole: false, framing: 'head', stop: 'reset' },
  'ends without a length, RST': { whole: false, framing: 'none', stop: 'reset' },
} as const
export type Cut = keyof typeof CUTS

/** Starts an upstream that responds to `?cut=<one of CUTS>&bytes=<size>`. Truncates the response according to `cut`. */
export async function startTruncatingUpstream(cleanup: Cleanup): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let received = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
      if (!received.endsWith('\r\n\r\n')) return
      const query = new URL(received.slice(0, received.indexOf(' HTTP/')).split(' ')[1] ?? '/', 'http://a')
      received = ''
      answer(socket, {
        cut: (query.searchParams.get('cut') ?? 'complete, with Content-Length') as Cut,
        bytes: Number(query.searchParams.get('bytes')),
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function answer(socket: Socket, { cut, bytes }: { readonly cut: Cut; readonly bytes: number }): void {
  const { framing, stop } = CUTS[cut]
  const text = render(cut, bytes)
  // The gateway receives the head before the fault, or together with the fault.
  const at = randomBelow(3) === 0 ? randomBelow(text.length) : 0
  const finish = (): void => {
    if (stop === 'end') socket.end()
    if (stop === 'reset') socket.resetAndDestroy()
  }
  socket.write(text.slice(0, at), 'latin1', () =>
    socket.write(
      text.slice(at),
      'latin1',
      framing === 'none' || randomBelow(2) === 0 ? later(finish) : finish,
    ),
  )
}

/** Delays the end of a connection. A reset without a delay can overtake the bytes of the response. */
function later(then: () => void): () => void {
  return () => void setTimeout(then, 2 + randomBelow(5))
}

function render(cut: Cut, bytes: number): string {
  const { framing, whole } = CUTS[cut]
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
  const body = 'x'.repeat(bytes)
  switch (framing) {
    case 'length':
      return `${head}content-length: ${bytes}\r\n\r\n${whole ? body : body.slice(0, randomBelow(bytes))}`
    case 'head':
      return head.slice(0, 1 + randomBelow(head.length))
    case 'none':
      return `${head}\r\n${body}`
    case 'chunked': {
      const chunks = `${chunk(body)}0\r\n\r\n`
      return `${head}transfer-encoding: chunked\r\n\r\n${whole ? chunks : chunks.slice(0, randomBelow(bytes))}`
    }
    case 'between':
      return `${head}transfer-encoding: chunked\r\n\r\n${chunk(body)}`
    case 'last':
      return `${head}transfer-encoding: chunked\r\n\r\n${chunk(body)}0${'\r\n\r'.slice(0, randomBelow(4))}`
    case 'junk':
      return `${head}transfer-encoding: chunked\r\n\r\n${chunk(body)}zz\r\n`
  }
}

function chunk(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n`
}
