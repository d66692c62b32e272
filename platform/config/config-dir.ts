import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BootError } from '../diagnostics/boot-error.ts'
import { displayPath } from '../diagnostics/display-path.ts'
import { findPackageRoot } from '../process/package-root.ts'

/**
 * Returns the absolute path of the configuration folder: `SCOPEGATE_CONFIG_DIR`, else `config/` of this package.
 * @throws {BootError} ERR_CONFIG_DIR when the variable names a file.
 */
export function findConfigDir(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env['SCOPEGATE_CONFIG_DIR']
  return chosen === undefined || chosen === ''
    ? join(findPackageRoot(), 'config')
    : requireConfigDir(resolve(chosen), 'SCOPEGATE_CONFIG_DIR')
}

/**
 * Returns the path unless it names a file. The readers of the files report a missing folder.
 * @param setting name of the option or variable with the path.
 * @throws {BootError} ERR_CONFIG_DIR, exit code 2.
 */
export function requireConfigDir(path: string, setting: string): string {
  if (!isFile(path)) return path
  throw new BootError(
    'ERR_CONFIG_DIR',
    `scopegate: ${setting} must be the folder of the configuration, but ${displayPath(path)} is a file. Use its folder: ${displayPath(dirname(path))}`,
    { exitCode: 2 },
  )
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
