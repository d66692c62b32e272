import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { COMMAND } from '../fixtures/run-command.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'

// If attackers can write to the compile cache, the user of `scopegate` runs their code.

/** Runs `scopegate --version` in a separate folder. */
async function run(t: Test, cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  const args = ['-u', 'NODE_COMPILE_CACHE', process.execPath, COMMAND, '--version']
  const child = spawnPlainly('env', args, { cwd, env })
  child.stdin.end()
  t.match(await text(child.stdout), /\d+\.\d+\.\d+/)
}

t.test('stores compiled code in a folder that only this user owns', async (t) => {
  const dir = t.testdir()
  await run(t, dir, { XDG_CACHE_HOME: join(dir, 'cache') })
  t.ok(readdirSync(join(dir, 'cache/scopegate/compiled')).length > 0)
})

t.test('does not store compiled code in the working directory', async (t) => {
  for (const env of [{ XDG_CACHE_HOME: '' }, { XDG_CACHE_HOME: 'cache' }, { XDG_CACHE_HOME: '', HOME: '' }]) {
    const [dir, home] = [t.testdir(), t.testdir({ cwd: {}, home: {} })]
    const cwd = join(dir, 'cwd')
    await run(t, cwd, { HOME: join(home, 'home'), ...env })
    t.same(readdirSync(cwd), [], JSON.stringify(env))
  }
})

t.test('does not read compiled code from a folder that another user can write', async (t) => {
  const rows: readonly (readonly [string, (root: string) => void])[] = [
    ['others may write', (root) => mkdirSync(join(root, 'compiled'), { recursive: true })],
    [
      'other users can write to the parent folder',
      (root) => mkdirSync(join(root, 'compiled'), { recursive: true }),
    ],
    [
      'a link',
      (root) => {
        mkdirSync(join(root, '../elsewhere'), { recursive: true })
        mkdirSync(root, { recursive: true })
        symlinkSync('../elsewhere', join(root, 'compiled'))
      },
    ],
  ]
  for (const [index, [name, make]] of rows.entries()) {
    const dir = t.testdir()
    const root = join(dir, 'cache/scopegate')
    make(root)
    if (index === 0) chmodSync(join(root, 'compiled'), 0o777)
    if (index === 1) chmodSync(root, 0o777)
    await run(t, dir, { XDG_CACHE_HOME: join(dir, 'cache') })
    t.same(readdirSync(join(root, 'compiled')), [], name)
    t.notOk(existsSync(join(root, 'elsewhere')))
  }
})
