import { dirname } from 'node:path'
import type { Logger } from '../../runtime/logger.ts'
import type { PolicyPlaces } from './read-policy-sources.ts'
import { watchFolders } from './watch-folders.ts'

/** Watches everything that policies are read from, unless they are reloaded by hand. @returns what ends it. */
export function startReloading(
  reload: (asker: 'watch') => Promise<unknown>,
  options: PolicyPlaces & { readonly policyReload: 'watch' | 'manual'; readonly logger: Logger },
): () => void {
  const { policiesDir, scopesFile, presetsFile, policyReload, logger } = options
  if (policyReload === 'manual') return () => undefined
  const others = [scopesFile, presetsFile].flatMap((file) => (file === undefined ? [] : [dirname(file)]))
  const dirs = [policiesDir, ...others]
  const watch = watchFolders({ dirs, logger, onChange: () => reload('watch') })
  return watch.close
}
