/** Address of the server, and URL of the API that the tools call. */
export type Settings = { readonly host: string; readonly port: number; readonly platformUrl: URL }

/**
 * Reads the settings from environment variables.
 * @throws {Error} if a value is not valid. The message is for a terminal.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const port = env['MCP_SERVER_PORT'] ?? '8083'
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new Error(
      `MCP_SERVER_PORT is "${port}": set it to a number from 0 to 65535 (0 takes any free port).`,
    )
  const url = env['LEARNING_PLATFORM_URL'] ?? 'http://127.0.0.1:8082'
  const platformUrl = URL.parse(url)
  if (platformUrl === null || !/^https?:$/.test(platformUrl.protocol))
    throw new Error(`LEARNING_PLATFORM_URL is "${url}": set it to the URL of the learning platform.`)
  return { host: env['MCP_SERVER_HOST'] ?? '127.0.0.1', port: Number(port), platformUrl }
}
