import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { findConfigDir, requireConfigDir } from '../platform/config/config-dir.ts'
import { displayPath } from '../platform/diagnostics/display-path.ts'
import type { ParsedArguments } from './command.ts'
import type { Terminal } from './terminal.ts'

/** The folder of the configuration. Absolute paths. */
export type ConfigFolder = {
  readonly configDir: string
  /** The searched folders without `file`. Absent: the command does not use the configuration of the package. */
  readonly searched?: readonly string[]
  /** The file that the configuration of the command must contain. */
  readonly file: ConfigFile
}

type ConfigFile = 'gateway.yaml' | 'authorization-server.yaml'

/** The folders that a command reads. Absolute paths. */
export type Folders = ConfigFolder & {
  /** Overrides the folder that gateway.yaml names. */
  readonly policiesDir: string | undefined
  /** Name of the only policy source to read. Default: all sources. */
  readonly source?: string | undefined
}

/**
 * Finds the folders for a command. Finds the configuration as `findConfigFolder()` does. `--policies` is relative to the
 * working folder. Without a named folder, the working folder can be the folder of the policies.
 * @param namedPolicies the absolute path of the policies, if another argument than `--policies` names them.
 * @throws {BootError} ERR_CONFIG_DIR when the configuration is a file.
 */
export function findFolders(
  given: Pick<ParsedArguments, 'text'>,
  terminal: Pick<Terminal, 'env' | 'folder'>,
  namedPolicies?: string,
): Folders {
  const policies = given.text('policies')
  const policiesDir =
    namedPolicies ?? (policies === undefined ? undefined : resolve(terminal.folder, policies))
  return {
    ...findConfigFolder('gateway.yaml', given, terminal, policiesDir ?? terminal.folder),
    policiesDir,
    source: given.text('source'),
  }
}

/**
 * Finds the configuration for a command: `--config`, else SCOPEGATE_CONFIG_DIR, else `config/` in the working folder or
 * beside the policies if it contains `file`, else the configuration in this package.
 * @param policiesDir the absolute path of the policies. Default: the command finds no configuration beside policies.
 * @throws {BootError} ERR_CONFIG_DIR when the configuration is a file.
 */
export function findConfigFolder(
  file: ConfigFile,
  given: Pick<ParsedArguments, 'text'>,
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
  policiesDir?: string,
): ConfigFolder {
  const config = given.text('config')
  if (config !== undefined) return { configDir: requireConfigDir(resolve(folder, config), '--config'), file }
  if ((env['SCOPEGATE_CONFIG_DIR'] ?? '') !== '') return { configDir: findConfigDir(env), file }
  const projects = policiesDir === undefined ? [folder] : [folder, dirname(policiesDir)]
  const searched = [...new Set(projects.map((project) => join(project, 'config')))]
  const found = searched.find((dir) => existsSync(join(dir, file)))
  return found === undefined ? { configDir: findConfigDir(env), searched, file } : { configDir: found, file }
}

/**
 * Prints a notice when the command reads the configuration of this package. Without the notice, a user in a wrong
 * folder would not see that `check` ignores the policies of the user, or compares them with the scopes and upstreams of
 * the package.
 */
export function noteShippedConfig(
  { searched, file, configDir, policiesDir }: ConfigFolder & Partial<Folders>,
  { err, folder }: Pick<Terminal, 'err' | 'folder'>,
  readsPolicies: boolean = policiesDir === undefined,
): void {
  if (searched === undefined) return
  const used = readsPolicies ? 'the configuration and the policies' : 'the configuration'
  err.write(
    `scopegate: found no ${file} in ${searched.join(' or ')}, so the command uses ${used} of the Scopegate package (${displayPath(configDir, folder)}). To use your configuration: --config DIR. To create a configuration: scopegate init\n`,
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
