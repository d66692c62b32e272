import { resolve } from 'node:path'
import {
  type AuthorizationServerConfig,
  readAuthorizationServerConfig,
} from '../authorization-server/config.ts'
import { findConfigDir, requireConfigDir } from '../platform/config/config-dir.ts'
import type { ParsedArguments } from './command.ts'
import { dataFolder } from './find-folders.ts'
import type { Terminal } from './terminal.ts'

/**
 * Reads the configuration of the authorization server. Without a configuration, uses the data folder of `scopegate dev`
 * in the working folder.
 * @throws {BootError} when the configuration is not valid.
 */
export function readServerConfig(
  given: Pick<ParsedArguments, 'text'>,
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
): AuthorizationServerConfig {
  const [config, data] = [given.text('config'), given.text('data')]
  return readAuthorizationServerConfig({
    configDir:
      config === undefined ? findConfigDir(env) : requireConfigDir(resolve(folder, config), '--config'),
    env: { ...env, ...dataFolder({ config, data }, env, folder) },
  }).config
}
