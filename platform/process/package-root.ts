import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the folder that contains `package.json`, `config/` and `policies/`. That is the repository or the installed
 * package. In the installed package, this file is one level deeper, below `dist/`.
 * @throws {Error} when no parent folder of `from` contains a package.json, which indicates a broken installation.
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
