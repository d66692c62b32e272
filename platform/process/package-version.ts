import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from './package-root.ts'

export function readPackageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(findPackageRoot(), 'package.json'), 'utf8'))
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version)
  throw new Error('package.json has no version: the installation is incomplete')
}
