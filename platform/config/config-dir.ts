import { join, resolve } from 'node:path'
import { findPackageRoot } from '../process/package-root.ts'

/** The folder of the operator's configuration: SCOPEGATE_CONFIG_DIR, else `config/` of this package. Absolute. */
export function findConfigDir(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env['SCOPEGATE_CONFIG_DIR']
  return chosen === undefined || chosen === '' ? join(findPackageRoot(), 'config') : resolve(chosen)
}
