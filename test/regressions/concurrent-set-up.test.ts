import { once } from 'node:events'
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'

// Before the fix, `npm start` and `npm test` could run at the same time in a new checkout. Each `npm ci` removed the
// packages of the other command, and both commands failed. The remaining folder seemed complete, so that every later
// start also failed.
const LOCK = JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } })
/**
 * Simulates npm. Removes the installed packages, and fails while another simulation runs. Installs packages when the
 * file `continue` exists.
 */
const NPM = `
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
if (existsSync('busy')) process.exit(1)
writeFileSync('busy', '')
rmSync('node_modules', { recursive: true, force: true })
const timer = setInterval(() => {
  if (!existsSync('continue')) return
  clearInterval(timer)
  mkdirSync('node_modules/a', { recursive: true })
  writeFileSync('node_modules/a/package.json', '{}')
  writeFileSync('node_modules/.package-lock.json', ${JSON.stringify(LOCK)})
  rmSync('busy')
}, 20)
`

t.test('two concurrent set-ups of a checkout install the packages once', async (t) => {
  const folder = t.testdir({
    'package.json': '{ "type": "module" }',
    'package-lock.json': LOCK,
    'npm.js': NPM,
  })
  cpSync(join(findPackageRoot(), 'scripts', 'set-up.js'), join(folder, 'scripts', 'set-up.js'))
  const setUp = async () => {
    const env = { npm_execpath: join(folder, 'npm.js') }
    const child = spawnPlainly(process.execPath, [join(folder, 'scripts', 'set-up.js')], { env })
    const finishInstallation = () => writeFileSync(join(folder, 'continue'), '')
    child.stderr.on('data', (text: Buffer) => {
      if (text.includes('waiting for it')) finishInstallation()
    })
    const [code] = await once(child, 'exit')
    finishInstallation()
    return code as unknown
  }
  t.same(await Promise.all([setUp(), setUp()]), [0, 0])

  const installed = join(folder, 'node_modules', 'a')
  rmSync(installed, { recursive: true })
  t.equal(await setUp(), 0)
  t.ok(existsSync(installed), 'an incomplete installation that is marked as complete is installed again')
})
