import { spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { isShown } from '../fixtures/follow-guide.ts'
import { documentedBlocks } from '../fixtures/repository-texts.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

/** The root test of this file. Each nested test has its own test folder. */
const file = t

// Runs the commands of docs/first-api.md in the order of the page, against the services of `npm start`.
const ROOT = findPackageRoot()
const blocks = documentedBlocks('docs/first-api.md').map(({ info, text }) => ({
  commands:
    info === 'sh'
      ? text
      : text
          .split('\n')
          .filter((line) => line.startsWith('$ '))
          .map((line) => line.slice(2))
          .join('\n'),
  shown: info === 'sh' ? [] : text.split('\n').filter((line) => line !== '' && !line.startsWith('$ ')),
}))

t.test('the commands of docs/first-api.md print the shown output', async (t) => {
  const folder = t.testdir({ bin: {} })
  for (const name of ['config', 'policies']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(ROOT, 'bin/scopegate.js')}" "$@"\n`
  writeFileSync(join(folder, 'bin/npx'), npx, { mode: 0o755 })
  const { baseUrl, port } = await startScopegate(file, {
    args: ['--config', join(folder, 'config'), '--policies', join(folder, 'policies')],
  })
  const run = (commands: string): string => {
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', commands.replaceAll('http://127.0.0.1:8080', baseUrl)],
      {
        cwd: folder,
        encoding: 'utf8',
        env: {
          ...plainEnvironment(),
          PORT: String(port),
          PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        },
      },
    )
    return stdout + stderr
  }

  const [start, ...steps] = blocks
  t.equal(start?.commands, 'npm start\n')
  t.equal(steps.length, 9, 'the page has the commands that this test runs')
  for (const { commands, shown } of steps) {
    const token = /^TOKEN=\$\((.*)\)$/m.exec(commands)?.[1]
    const issued = token === undefined ? '' : run(token).trim()
    if (issued !== '') recordCredential(issued)
    const command = issued === '' ? commands : commands.replace(`$(${token})`, issued)
    // The gateway reloads a changed policy within a second, so a command can need several attempts.
    let output = ''
    await until(`${commands} prints the shown output`, () => {
      output = run(command)
      return Promise.resolve(isShown(shown, output))
    })
    t.ok(isShown(shown, output), commands, { output })
  }
})
