import { createServer } from 'node:net'
import { findFreePort } from '../../../platform/net/find-free-port.ts'

const HOST = '127.0.0.1'

/** Returns whether a server can listen on the port at 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(false))
    server.listen({ host: HOST, port, exclusive: true }, () => server.close(() => resolve(true)))
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
  const isUsable = preferred < 65_536 && (await isPortFree(preferred))
  const port = isUsable ? preferred : await findFreePort(HOST)
  return { port: String(port), taken: port === preferred ? undefined : preferred }
}
