import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Cleanup } from '../cleanup.ts'

/** An upstream that takes requests and never answers. */
export type HangingUpstream = {
  readonly url: string
  /** Requests that were taken and not answered, so far. */
  readonly taken: number
  /** Connections of those that are still open. */
  readonly held: number
}

/** Starts an upstream that never answers what ends in `/hang`, and everything else at once. */
export async function startHangingUpstream(cleanup: Cleanup): Promise<HangingUpstream> {
  const held = new Set<Socket>()
  let taken = 0
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    if (request.url?.endsWith('/hang') !== true) {
      response.end('{}')
      return
    }
    const { socket } = request
    taken += 1
    held.add(socket)
    socket.once('close', () => held.delete(socket))
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
    get held() {
      return held.size
    },
  }
}
