import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const ROOT = findPackageRoot()

t.test('run-tests names each argument that matches no file, and runs no test', async (t) => {
  const args = ['test/oauth/scope.test.ts', 'test/oauth/scop.test.ts', 'test/oaut/*.test.ts', 'test/fixtures']
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'scripts/run-tests.js'), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.same(stdout.split('\n'), [
    `tests: no file matches test/oauth/scop.test.ts in ${ROOT}`,
    `tests: no file matches test/oaut/*.test.ts in ${ROOT}`,
    `tests: no file matches test/fixtures in ${ROOT}`,
    '',
  ])
})
