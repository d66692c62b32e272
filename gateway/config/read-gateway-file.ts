import { join } from 'node:path'
import { type ReadConfig, readConfig } from '../../platform/config/read-config.ts'
import { GatewayFile } from './gateway-file.ts'

/** Section of the environment variables that override config/upstreams.yaml. */
export const UPSTREAMS_SECTION = 'UPSTREAMS'

/** Values of keys that config/gateway.yaml may omit. Paths are relative to the file. */
const FILE_DEFAULTS = {
  name: 'API',
  listen: { host: '127.0.0.1', port: 8080 },
  management: { host: '127.0.0.1', port: 9090 },
  policies: '../policies',
  scopes: './scopes.yaml',
  upstreams: './upstreams.yaml',
} as const

/**
 * Reads config/gateway.yaml only, with defaults and with overrides from the environment.
 * @throws {ConfigError} listing all errors, with file, line and column.
 */
export function readGatewayFile(options: {
  readonly configDir: string
  readonly env: Readonly<Record<string, string | undefined>>
}): ReadConfig<GatewayFile> {
  return readConfig({
    file: join(options.configDir, 'gateway.yaml'),
    schema: GatewayFile,
    env: options.env,
    otherSections: [UPSTREAMS_SECTION],
    defaults: FILE_DEFAULTS,
  })
}
