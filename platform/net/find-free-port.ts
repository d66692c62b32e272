import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The ports between the registered ports of common services and the first ephemeral port of Linux (32768). Another
 * process that listens on port 0 never gets one of these ports.
 */
const PORTS = { first: 20_000, end: 32_768 } as const
const ATTEMPTS = 100

/**
 * Returns a free port of `host`, for a process that listens on the port later.
 * @throws {Error} the listen error, for example EADDRNOTAVAIL if the machine does not have the address `host`.
 */
export async function findFreePort(host: string): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(PORTS.first, PORTS.end)
    const server = createServer()
    try {
      await once(server.listen(port, host), 'listening')
    } catch (error) {
      if (attempt < ATTEMPTS && error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
        continue
      throw error
    }
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
