import { dirname } from 'node:path'
import { findPolicyFolders } from '../../../policy-engine/load/policy-sources.ts'
import type { PolicyLocations } from './read-policy-sources.ts'
import { type FolderWatchOptions, watchFolders } from './watch-folders.ts'

/**
 * Watches all folders that policies are read from, unless `policyReload` is `manual`.
 * @returns a function that stops the watch.
 */
export function startReloading(
  reload: (asker: 'watch') => Promise<unknown>,
  options: PolicyLocations & { readonly policyReload: 'watch' | 'manual' } & Pick<
      FolderWatchOptions,
      'logger' | 'watch'
    >,
): () => void {
  const { policiesDir, scopesFile, presetsFile, policyReload, ...others } = options
  if (policyReload === 'manual') return () => undefined
  const files = [scopesFile, presetsFile].flatMap((file) => (file === undefined ? [] : [dirname(file)]))
  const listDirs = () => [...findPolicyFolders(policiesDir), ...files]
  const watch = watchFolders({ ...others, listDirs, onChange: () => reload('watch') })
  return watch.close
}
