import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Finds the folder that holds `package.json`, `config/` and `policies/`: the repository, or the installed package,
 * where this file lies one level deeper, below `dist/`.
 * @throws {Error} when no folder above `from` holds a package.json, which means a broken installation.
 */
export function findPackageRoot(from: string = fileURLToPath(import.meta.url)): string {
  let folder = dirname(from)
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error(`no package.json above ${from}: the installation is incomplete`)
    folder = parent
  }
  return folder
}
