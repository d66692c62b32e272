import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findConfigDir, requireConfigDir } from '../platform/config/config-dir.ts'
import { displayPath } from '../platform/diagnostics/display-path.ts'
import type { ParsedArguments } from './command.ts'
import type { Terminal } from './terminal.ts'

/** The folders that a command reads. Absolute paths. */
export type Folders = {
  readonly configDir: string
  /** True if the user named no configuration and the working folder has none. */
  readonly usesPackageConfig: boolean
  /** Overrides the folder that gateway.yaml names. */
  readonly policiesDir: string | undefined
  /** Name of the only policy source to read. Default: all sources. */
  readonly source?: string | undefined
}

/**
 * Finds the folders for a command. The configuration is `--config`, else SCOPEGATE_CONFIG_DIR, else `config/` in the
 * working folder if it contains a gateway.yaml, else the configuration in this package. `--policies` is relative to the
 * working folder.
 * @throws {BootError} ERR_CONFIG_DIR when the configuration is a file.
 */
export function findFolders(
  given: Pick<ParsedArguments, 'text'>,
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
): Folders {
  const [config, policies] = [given.text('config'), given.text('policies')]
  return {
    ...(config === undefined
      ? findUnnamed(env, folder)
      : named(requireConfigDir(resolve(folder, config), '--config'))),
    policiesDir: policies === undefined ? undefined : resolve(folder, policies),
    source: given.text('source'),
  }
}

type ConfigFolder = Pick<Folders, 'configDir' | 'usesPackageConfig'>

function findUnnamed(env: Terminal['env'], folder: string): ConfigFolder {
  if ((env['SCOPEGATE_CONFIG_DIR'] ?? '') !== '') return named(findConfigDir(env))
  const here = join(folder, 'config')
  if (existsSync(join(here, 'gateway.yaml'))) return named(here)
  return { configDir: findConfigDir(env), usesPackageConfig: true }
}

function named(configDir: string): ConfigFolder {
  return { configDir, usesPackageConfig: false }
}

/**
 * Prints a notice when the command reads the configuration of this package. Without the notice, a user in a wrong
 * folder would not see that `check` ignores the policies of the user, or compares them with the scopes and upstreams of
 * the package.
 */
export function noteShippedConfig(
  { usesPackageConfig, configDir, policiesDir }: Folders,
  { err, folder }: Pick<Terminal, 'err' | 'folder'>,
  readsPolicies: boolean = policiesDir === undefined,
): void {
  if (!usesPackageConfig) return
  const used = readsPolicies ? 'the configuration and the policies' : 'the configuration'
  err.write(
    `scopegate: found no config/gateway.yaml in ${folder}, so the command uses ${used} of the Scopegate package (${displayPath(configDir, folder)}). To use your configuration: --config DIR. To create a configuration: scopegate init\n`,
  )
}

/** Default data folder of `scopegate dev`, relative to the working folder. */
export const DEVELOPMENT_DATA_FOLDER = '.scopegate'

/**
 * Returns the environment variable for the data folder of the authorization server. Without `--data` and without a
 * configuration, a command uses the data of `scopegate dev` in the working folder, never in the installed package.
 * Empty: the configuration determines the folder.
 */
export function dataFolder(
  options: { readonly config?: string | undefined; readonly data?: string | undefined },
  env: Terminal['env'],
  folder: string,
): Readonly<Record<string, string>> {
  const { SCOPEGATE_CONFIG_DIR: configDir, SCOPEGATE_DATA_DIR: dataDir } = env
  const isConfigured = [options.config, configDir, dataDir].some((one) => one !== undefined && one !== '')
  if (options.data === undefined && isConfigured) return {}
  return { SCOPEGATE_DATA_DIR: resolve(folder, options.data ?? DEVELOPMENT_DATA_FOLDER) }
}
