import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../platform/process/package-root.ts'
import type { Cleanup } from './cleanup.ts'

/**
 * Checks out another revision of this repository, which uses the installed packages of this checkout.
 * @returns the new folder `previous` in `folder`. `cleanup` removes it.
 */
export function checkOut(
  revision: string,
  { folder, cleanup }: { readonly folder: string; readonly cleanup: Cleanup },
): string {
  const root = findPackageRoot()
  const path = join(folder, 'previous')
  execFileSync('git', ['-C', root, 'worktree', 'add', '--quiet', '--detach', path, revision])
  cleanup.add(() => void execFileSync('git', ['-C', root, 'worktree', 'remove', '--force', path]))
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  return path
}
