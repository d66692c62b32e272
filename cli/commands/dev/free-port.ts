import { createServer } from 'node:net'

/** Returns `preferred` when it is a port that nothing listens on at 127.0.0.1, else a port that the system chooses. */
export async function freePort(preferred: number): Promise<number> {
  const usable = preferred < 65_536 ? await tryPort(preferred) : undefined
  return usable ?? (await tryPort(0)) ?? preferred
}

/** Returns the port when it can be bound, and undefined when another process uses it. */
export function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(undefined))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
}
