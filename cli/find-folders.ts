import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findConfigDir } from '../platform/config/config-dir.ts'
import { findPackageRoot } from '../platform/process/package-root.ts'
import type { ParsedArguments } from './command.ts'
import type { Terminal } from './terminal.ts'

/** The folders that a command reads. Absolute paths. */
export type Folders = {
  readonly configDir: string
  /** Overrides the folder that gateway.yaml names. */
  readonly policiesDir: string | undefined
  /** Name of the only policy source to read. Default: all sources. */
  readonly source?: string | undefined
}

/**
 * Finds the folders for a command. The configuration is `--config`, else SCOPEGATE_CONFIG_DIR, else `config/` in the
 * working folder if it contains a gateway.yaml, else the configuration in this package. `--policies` is relative to the
 * working folder.
 */
export function findFolders(
  given: Pick<ParsedArguments, 'text'>,
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
): Folders {
  const [config, policies] = [given.text('config'), given.text('policies')]
  return {
    configDir: config === undefined ? findUnnamed(env, folder) : resolve(folder, config),
    policiesDir: policies === undefined ? undefined : resolve(folder, policies),
    source: given.text('source'),
  }
}

function findUnnamed(env: Terminal['env'], folder: string): string {
  const here = join(folder, 'config')
  const isNamed = (env['SCOPEGATE_CONFIG_DIR'] ?? '') !== ''
  return !isNamed && existsSync(join(here, 'gateway.yaml')) ? here : findConfigDir(env)
}

/**
 * Prints a notice when the command reads only the policies of this package. Without the notice, a user in a wrong
 * folder would not see that `check` ignores the policies of the user.
 */
export function noteShippedPolicies({ configDir, policiesDir }: Folders, { err, folder }: Terminal): void {
  const root = findPackageRoot()
  if (policiesDir !== undefined || configDir !== join(root, 'config') || folder === root) return
  err.write(
    'scopegate: found no config/gateway.yaml in this folder, so the command uses the policies of the Scopegate package\n',
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
