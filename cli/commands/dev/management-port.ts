import { freePort } from './free-port.ts'

/** The management port is the gateway's port plus this: 9090 for 8080. */
const OFFSET = 1010

/**
 * Chooses the gateway's management port for `scopegate dev`: the configured one, else the gateway's port plus 1010,
 * else a free one.
 * @returns the port, and in `taken` the predictable port when another program listens on it.
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
