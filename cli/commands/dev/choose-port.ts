import { createServer } from 'node:net'

/** Returns `preferred` when the port is free at 127.0.0.1, else a free port that the system selects. */
async function freePort(preferred: number): Promise<number> {
  const usable = preferred < 65_536 ? await tryPort(preferred) : undefined
  return usable ?? (await tryPort(0)) ?? preferred
}

/**
 * Returns the port that was bound, or undefined when the port cannot be bound. Port 0: the system selects a free port.
 */
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

/** Difference between the management port and the gateway's port: 9090 for 8080. */
const OFFSET = 1010

/**
 * Chooses the gateway's management port for `scopegate dev`: the configured port, else the gateway's port plus 1010,
 * else a free port.
 * @returns the port. `taken` is the gateway's port plus 1010 if another program listens on that port.
 */
export async function chooseManagementPort(
  gatewayPort: number,
  configured: string | undefined,
): Promise<{ readonly port: string; readonly taken: number | undefined }> {
  if (configured !== undefined) return { port: configured, taken: undefined }
  const preferred = gatewayPort + OFFSET
  const port = await freePort(preferred)
  return { port: String(port), taken: port === preferred ? undefined : preferred }
}
