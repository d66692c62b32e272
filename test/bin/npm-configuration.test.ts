import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'

const MANIFEST = JSON.stringify({ name: 'a', version: '1.0.0', engines: { node: '>=999' } })

// `npm test` passes the settings of .npmrc to its programs as variables, which have precedence over the file.
const env = Object.fromEntries(
  Object.entries(plainEnvironment()).filter(([name]) => !name.toLowerCase().startsWith('npm_config_')),
)

t.test('.npmrc hides the warning of npm about an older Node.js, and shows errors', async (t) => {
  const cwd = t.testdir({ 'package.json': MANIFEST })
  const install = (...packages: readonly string[]) =>
    spawnSync('npm', ['install', '--offline', '--no-audit', '--no-fund', ...packages], {
      cwd,
      env,
      encoding: 'utf8',
    })
  t.match(install(), { status: 0, stderr: 'EBADENGINE' })
  copyFileSync(join(findPackageRoot(), '.npmrc'), join(cwd, '.npmrc'))
  t.match(install(), { status: 0, stderr: /^$/ })
  t.match(install('./no-such-folder'), { status: Number, stderr: /^npm error code ENOENT$/m })
})
