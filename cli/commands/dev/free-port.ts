import { createServer } from 'node:net'

/** Returns `preferred` when the port is free at 127.0.0.1, else a free port that the system selects. */
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
