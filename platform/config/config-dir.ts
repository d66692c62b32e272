import { join, resolve } from 'node:path'
import { findPackageRoot } from '../process/package-root.ts'

/** Returns the absolute path of the configuration folder: `SCOPEGATE_CONFIG_DIR`, else `config/` of this package. */
export function findConfigDir(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env['SCOPEGATE_CONFIG_DIR']
  return chosen === undefined || chosen === '' ? join(findPackageRoot(), 'config') : resolve(chosen)
}
