import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Cleanup } from '../cleanup.ts'

export type HangingUpstream = {
  readonly url: string
  /** Number of received requests without a response. */
  readonly taken: number
  /** Number of open connections of these requests. */
  readonly openConnections: number
}

/** The upstream never responds to paths that end in `/hang`, and responds to other paths immediately. */
export async function startHangingUpstream(cleanup: Cleanup): Promise<HangingUpstream> {
  const open = new Set<Socket>()
  let taken = 0
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    if (request.url?.endsWith('/hang') !== true) {
      response.end('{}')
      return
    }
    const { socket } = request
    taken += 1
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get taken() {
      return taken
    },
    get openConnections() {
      return open.size
    },
  }
}
