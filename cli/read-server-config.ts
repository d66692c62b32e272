import {
  type AuthorizationServerConfig,
  readAuthorizationServerConfig,
} from '../authorization-server/config.ts'
import type { ParsedArguments } from './command.ts'
import { dataFolder, findConfigFolder, noteShippedConfig } from './find-folders.ts'
import type { Terminal } from './terminal.ts'

/**
 * Reads the configuration of the authorization server. Without `--config` and SCOPEGATE_CONFIG_DIR, uses the
 * configuration and the data folder of `scopegate dev` in the working folder.
 * @throws {BootError} when the configuration is not valid.
 */
export function readServerConfig(
  given: Pick<ParsedArguments, 'text'>,
  terminal: Pick<Terminal, 'env' | 'folder' | 'err'>,
): AuthorizationServerConfig {
  const { env, folder } = terminal
  const [config, data] = [given.text('config'), given.text('data')]
  const found = findConfigFolder('authorization-server.yaml', given, terminal)
  noteShippedConfig(found, terminal, false)
  return readAuthorizationServerConfig({
    configDir: found.configDir,
    env: { ...env, ...dataFolder({ config, data }, env, folder) },
  }).config
}
