import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../../platform/process/make-folder.ts'

t.test('makeFolder() fails below a folder that cannot contain new folders', async (t) => {
  t.throws(() => makeFolder('/proc/nothing/below'), / mkdir '\/proc/)
})

t.test('makeFolder() rejects a folder below a file', async (t) => {
  const file = join(t.testdir(), 'file')
  writeFileSync(file, '')
  t.throws(() => makeFolder(join(file, 'folder')), { code: 'ENOTDIR' })
})

t.test('makeFolder() creates each level for the owner only, and keeps existing levels', async (t) => {
  const folder = join(t.testdir(), 'one', 'two')
  makeFolder(folder)
  makeFolder(folder)
  for (const level of [folder, join(folder, '..')]) t.equal(statSync(level).mode & 0o777, 0o700)
  const shared = join(folder, 'three', 'four')
  makeFolder(shared, 0o755)
  for (const level of [shared, join(shared, '..')])
    t.equal(statSync(level).mode & 0o777, 0o755 & ~process.umask())
})

t.test('makeFolder() accepts an existing folder', async (t) => {
  const dir = t.testdir({ link: t.fixture('symlink', 'nowhere') })
  t.doesNotThrow(() => makeFolder(join(dir, 'link')))
})
