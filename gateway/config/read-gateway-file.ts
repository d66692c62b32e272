import { join, resolve } from 'node:path'
import { type ReadConfig, readConfig } from '../../platform/config/read-config.ts'
import type { TextSource } from '../../platform/diagnostics/yaml/text-source.ts'
import { GatewayFile } from './gateway-file.ts'

/** Section of the environment variables that override config/upstreams.yaml. */
export const UPSTREAMS_SECTION = 'UPSTREAMS'

/** The default folder of the policies, relative to the file. Used if neither `policies` nor `policySources` is set. */
export const DEFAULT_POLICIES = '../policies'

/** Values of keys that config/gateway.yaml may omit. Paths are relative to the file. */
export const FILE_DEFAULTS = {
  name: 'API',
  listen: { host: '127.0.0.1', port: 8080 },
  management: { host: '127.0.0.1', port: 9090 },
  scopes: './scopes.yaml',
  upstreams: './upstreams.yaml',
} as const

export type GatewayFileOptions = {
  readonly configDir: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The content of config/gateway.yaml as an object. Default: the function reads the file. */
  readonly settings?: object | undefined
  /** The content of config/gateway.yaml, if the caller has read the file already. Default: the function reads the file. */
  readonly source?: TextSource | undefined
}

/** Returns the path that diagnostics show. Relative paths of settings start at the folder of this path. */
export function gatewayFilePath({ configDir, settings }: GatewayFileOptions): string {
  return join(configDir, settings === undefined ? 'gateway.yaml' : 'options.settings')
}

/**
 * Reads config/gateway.yaml only, with defaults and with overrides from the environment.
 * @throws {ConfigError} listing all errors, with file, line and column.
 */
export function readGatewayFile(options: GatewayFileOptions): ReadConfig<GatewayFile> {
  const read = readConfig({
    file: gatewayFilePath(options),
    source:
      options.settings === undefined
        ? options.source
        : { text: JSON.stringify(options.settings, undefined, 2) },
    schema: GatewayFile,
    env: options.env,
    otherSections: [UPSTREAMS_SECTION],
    defaults: FILE_DEFAULTS,
  })
  const { policies, policySources } = read.value
  if (policies !== undefined || policySources !== undefined) return read
  return {
    ...read,
    value: Object.freeze({ ...read.value, policies: resolve(options.configDir, DEFAULT_POLICIES) }),
  }
}
