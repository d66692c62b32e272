import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A package of package-lock.json. */
export type LockedPackage = {
  /** For example `node_modules/fastify/node_modules/pino`. */
  readonly path: string
  readonly name: string
  readonly version: string
  readonly license: string | undefined
  /** Hashes in the form of Subresource Integrity, for example `sha512-…`. */
  readonly integrity: string
}

type LockEntry = {
  readonly version: string
  readonly license?: string
  readonly integrity: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

/** Returns the packages that `npm ci --omit=dev --omit=optional` installs, without the packages of this repository. */
export function findProductionPackages(folder: string): readonly LockedPackage[] {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockEntry>>
  }
  return Object.entries(lock.packages)
    .filter(
      ([path, { link, dev, optional, devOptional }]) =>
        path.startsWith('node_modules/') && !(link || dev || optional || devOptional),
    )
    .map(([path, { version, license, integrity }]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
      integrity,
    }))
}
