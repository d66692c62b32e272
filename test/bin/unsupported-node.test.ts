import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const ROOT = findPackageRoot()
const { unsupportedNode } = (await import(join(ROOT, 'bin', 'unsupported-node.js'))) as {
  unsupportedNode(version: string): string | undefined
}

t.test('unsupportedNode() accepts the versions that package.json declares', async (t) => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.strictSame(engines, { node: '>=24.7.0' })
  for (const version of ['24.7.0', '24.21.0', '25.0.0', '100.0.0', process.versions.node])
    t.equal(unsupportedNode(version), undefined, version)
})

t.test('unsupportedNode() names the required version, the found version and the solution', async (t) => {
  for (const version of ['4.9.1', '18.20.4', '20.20.2', '22.12.0', '23.11.0', '24.0.0', '24.6.99'])
    t.equal(
      unsupportedNode(version),
      `scopegate: requires Node.js 24.7 or later (found ${version}). Install Node.js from https://nodejs.org. In a checkout, run \`node scripts/set-up.js\` once, and then \`npx scopegate\`, which uses the pinned version.`,
    )
})

/** The installed Node.js versions of this machine that Scopegate does not support. */
const unsupported = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .filter(existsSync)
  .map((node) => ({
    node,
    version: spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim(),
  }))
  .filter(({ version }) => unsupportedNode(version) !== undefined)

for (const { node, version } of unsupported)
  for (const args of [['--version'], ['check'], ['gateway'], ['dev']])
    t.test(`scopegate ${args} exits with 1 and one line on Node.js ${version} (${node})`, async (t) => {
      const { status, stdout, stderr } = spawnSync(node, [join(ROOT, 'bin', 'scopegate.js'), ...args], {
        encoding: 'utf8',
      })
      t.equal(status, 1)
      t.equal(stdout, '')
      t.equal(stderr, `${unsupportedNode(version)}\n`)
    })
