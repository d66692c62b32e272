import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { readPackageVersion } from '../../../platform/process/package-version.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

t.test('findPackageRoot() returns the nearest folder above a file that contains package.json', async (t) => {
  const dir = t.testdir({ 'package.json': '{}', a: { b: {}, 'package.json': '{}' } })
  t.equal(findPackageRoot(join(dir, 'file')), dir)
  t.equal(findPackageRoot(join(dir, 'c', 'd', 'file')), dir)
  t.equal(findPackageRoot(join(dir, 'a', 'b', 'file')), join(dir, 'a'))
  t.equal(findPackageRoot(), ROOT)
  t.throws(() => findPackageRoot('/file'), {
    message: 'no package.json above /file: the installation is incomplete',
  })
})

t.test(
  'readPackageVersion() returns the version of package.json, or explains why the version is missing',
  async (t) => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    t.equal(readPackageVersion(), version)
    for (const [manifest, result] of [
      ['{ "version": "1.2.3" }', '1.2.3'],
      ['{ "version": 7 }', '7'],
      ['{}', undefined],
      ['null', undefined],
      ['"version"', undefined],
    ] as const) {
      const dir = t.testdir({})
      const folder = join(dir, encodeURIComponent(manifest), 'platform', 'process')
      mkdirSync(folder, { recursive: true })
      for (const name of ['package-root.ts', 'package-version.ts'])
        cpSync(join(ROOT, 'platform', 'process', name), join(folder, name))
      const file = join(dirname(dirname(folder)), 'package.json')
      writeFileSync(file, '{ "type": "module" }')
      const installed: typeof import('../../../platform/process/package-version.ts') = await import(
        pathToFileURL(join(folder, 'package-version.ts')).href
      )
      writeFileSync(file, manifest)
      if (result === undefined)
        t.throws(() => installed.readPackageVersion(), {
          message: 'package.json has no version: the installation is incomplete',
        })
      else t.equal(installed.readPackageVersion(), result)
    }
  },
)
