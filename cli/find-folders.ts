import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { findConfigDir, requireConfigDir } from '../platform/config/config-dir.ts'
import { displayPath } from '../platform/diagnostics/display-path.ts'
import type { ParsedArguments } from './command.ts'
import type { Terminal } from './terminal.ts'

/** The folders that a command reads. Absolute paths. */
export type Folders = {
  readonly configDir: string
  /** The searched folders without a gateway.yaml. Absent: the command does not use the configuration of the package. */
  readonly searched?: readonly string[]
  /** Overrides the folder that gateway.yaml names. */
  readonly policiesDir: string | undefined
  /** Name of the only policy source to read. Default: all sources. */
  readonly source?: string | undefined
}

/**
 * Finds the folders for a command. The configuration is `--config`, else SCOPEGATE_CONFIG_DIR, else `config/` in the
 * working folder or beside the policies if it contains a gateway.yaml, else the configuration in this package.
 * `--policies` is relative to the working folder. Without a named folder, the working folder can be the folder of the
 * policies.
 * @param namedPolicies the absolute path of the policies, if another argument than `--policies` names them.
 * @throws {BootError} ERR_CONFIG_DIR when the configuration is a file.
 */
export function findFolders(
  given: Pick<ParsedArguments, 'text'>,
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
  namedPolicies?: string,
): Folders {
  const [config, policies] = [given.text('config'), given.text('policies')]
  const policiesDir = namedPolicies ?? (policies === undefined ? undefined : resolve(folder, policies))
  return {
    ...(config === undefined
      ? findConfig(env, [folder, dirname(policiesDir ?? folder)])
      : { configDir: requireConfigDir(resolve(folder, config), '--config') }),
    policiesDir,
    source: given.text('source'),
  }
}

function findConfig(
  env: Terminal['env'],
  projects: readonly string[],
): Pick<Folders, 'configDir' | 'searched'> {
  if ((env['SCOPEGATE_CONFIG_DIR'] ?? '') !== '') return { configDir: findConfigDir(env) }
  const searched = [...new Set(projects.map((project) => join(project, 'config')))]
  const found = searched.find((dir) => existsSync(join(dir, 'gateway.yaml')))
  return found === undefined ? { configDir: findConfigDir(env), searched } : { configDir: found }
}

/**
 * Prints a notice when the command reads the configuration of this package. Without the notice, a user in a wrong
 * folder would not see that `check` ignores the policies of the user, or compares them with the scopes and upstreams of
 * the package.
 */
export function noteShippedConfig(
  { searched, configDir, policiesDir }: Folders,
  { err, folder }: Pick<Terminal, 'err' | 'folder'>,
  readsPolicies: boolean = policiesDir === undefined,
): void {
  if (searched === undefined) return
  const used = readsPolicies ? 'the configuration and the policies' : 'the configuration'
  err.write(
    `scopegate: found no gateway.yaml in ${searched.join(' or ')}, so the command uses ${used} of the Scopegate package (${displayPath(configDir, folder)}). To use your configuration: --config DIR. To create a configuration: scopegate init\n`,
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
