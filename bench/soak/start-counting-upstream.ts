import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '../cleanup.ts'

/** An upstream that counts the requests that it executes. */
export type CountingUpstream = {
  readonly url: string
  readonly port: number
  /** Number of executions of each call, by the value of its `x-call` header. */
  readonly executed: ReadonlyMap<string, number>
}

/** The upstream executes a request after it has read the complete body, and responds with 201. */
export async function startCountingUpstream(cleanup: Cleanup): Promise<CountingUpstream> {
  const executed = new Map<string, number>()
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const call = String(request.headers['x-call'])
      executed.set(call, (executed.get(call) ?? 0) + 1)
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ call }))
    })
    request.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, executed }
}
