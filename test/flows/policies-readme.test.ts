import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { documentedBlocks, readRepositoryFile } from '../fixtures/repository-texts.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// Runs the commands of policies/README.md unchanged, in the folder of `npm start`.
const ROOT = findPackageRoot()
const frontPage = readRepositoryFile('README.md')
/** The root test of this file. Each nested test has its own test folder. */
const file = t
const blocks = documentedBlocks('policies/README.md')
const [write = '', check = '', test = '', explain = '', ask = '', diff = '', ...more] = blocks.flatMap(
  ({ info, text }) => (info === 'sh' ? [text] : []),
)

t.test('the commands of policies/README.md create a route, and the gateway serves this route', async (t) => {
  const folder = t.testdir({ bin: {} })
  for (const name of ['config', 'policies']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(ROOT, 'bin/scopegate.js')}" "$@"\n`
  writeFileSync(join(folder, 'bin/npx'), npx, { mode: 0o755 })
  const run = (commands: string, baseUrl = '') => {
    const { stdout, stderr, status } = spawnSync(
      'sh',
      ['-ec', commands.replace('http://127.0.0.1:8080', baseUrl)],
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...plainEnvironment(), PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
      },
    )
    return { said: stdout + stderr, status }
  }
  run('git init -q -b main && git add . && git -c user.name=a -c user.email=a@b.c commit -qm before')
  const { baseUrl } = await startScopegate(file, {
    args: ['--config', join(folder, 'config'), '--policies', join(folder, 'policies')],
  })
  t.same(more, [], 'the test runs every block')

  t.equal(run(write).status, 0)
  const checked = run(check)
  t.equal(checked.status, 0, checked.said)
  t.match(checked.said, /^ok: 21 policies, 79 routes/m)
  const [, noted = 'none'] = /^(note\[N301\].*:\d+), …/m.exec(frontPage) ?? []
  t.ok(checked.said.includes(noted), 'the README shows the real output')
  const tested = run(test)
  t.equal(tested.status, 0, tested.said)
  t.match(tested.said, /^ok: 3 tests/m)
  t.match(
    run(explain).said,
    /route +catalogue\/list-catalogue[\s\S]*scopes +DENY[\s\S]*403 insufficient_scope/,
  )
  await until('the gateway reloads the policies', async () =>
    run(ask, baseUrl).said.startsWith('HTTP/1.1 401'),
  )
  t.match(run(ask, baseUrl).said, /www-authenticate: Bearer scope="courses:read", resource_metadata="/i)
  t.match(run(diff).said, /^\+ catalogue\/list-catalogue +GET \/api\/catalogue[\s\S]*1 new/m)
})

t.test('policies/README.md shows the real error message', async (t) => {
  const [message, ...others] = blocks.filter(({ info }) => info !== 'sh')
  t.same(others, [])
  const folder = t.testdir()
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  mkdirSync(join(folder, 'policies'))
  const [, policy = ''] = /<<'END'\n([\s\S]*?)^END$/m.exec(write) ?? []
  writeFileSync(join(folder, 'policies/catalogue.policy.yaml'), policy.replace('courses:read', 'course:read'))
  const { stdout, status } = spawnSync(process.execPath, [join(ROOT, 'bin/scopegate.js'), 'check'], {
    cwd: folder,
    encoding: 'utf8',
    env: plainEnvironment(),
  })
  t.equal(status, 3)
  t.ok(stdout.startsWith(message?.text ?? 'no message'), stdout)
})
