import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { startLearningPlatform } from '../../../examples/learning-platform/app.ts'
import { families } from '../../../examples/learning-platform/families/families.ts'
import { familyPath } from '../../../examples/learning-platform/families/family.ts'
import { readAll } from './read-all.ts'
import { type Platform, startPlatform } from './start-platform.ts'

const HERE = { host: '127.0.0.1', port: 0 }

t.test('rejects an unusable database with a message that says what to do', async (t) => {
  const folder = t.testdir({ 'a-file': 'x', 'not-a-database.sqlite': 'nothing of the kind'.repeat(100) })
  mkdirSync(join(folder, 'a-folder'))
  const foreign = new DatabaseSync(join(folder, 'foreign.sqlite'))
  foreign.exec('CREATE TABLE theirs (id INTEGER)')
  foreign.close()
  const names = [
    'a-file/data.sqlite',
    'a-file/none/data.sqlite',
    'not-a-database.sqlite',
    'a-folder',
    'foreign.sqlite',
  ]
  // The recursive `mkdir()` of Node.js never returns for these paths.
  if (process.platform === 'linux') names.push('/proc/learning-platform/data.sqlite', '/proc/a/b/data.sqlite')
  for (const name of names) {
    const databasePath = resolve(folder, name)
    await t.rejects(startLearningPlatform({ ...HERE, databasePath }), {
      code: 'ERR_DATABASE',
      message: /^[^\n]*name another file in LEARNING_PLATFORM_DATABASE\.$/,
    })
  }
  const untouched = new DatabaseSync(join(folder, 'foreign.sqlite'))
  t.equal(
    untouched.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'],
    1,
    'the platform created no table in the file',
  )
  untouched.close()
})

t.test('rejects a database of a newer release and does not change it', async (t) => {
  const platform = await startPlatform(t)
  await platform.close()
  const database = new DatabaseSync(platform.databasePath)
  database.exec('PRAGMA user_version = 99')
  database.close()
  await t.rejects(startLearningPlatform({ ...HERE, databasePath: platform.databasePath }), {
    code: 'ERR_DATABASE',
    message: /newer release/,
  })
})

t.test('rejects a port in use', async (t) => {
  const platform = await startPlatform(t)
  const databasePath = join(t.testdir(), 'second.sqlite')
  const port = Number(new URL(platform.url).port)
  await t.rejects(startLearningPlatform({ ...HERE, port, databasePath }), {
    code: 'ERR_LISTEN',
    message: /another program uses this port: stop it, or set LEARNING_PLATFORM_PORT/,
  })
})

t.test('a restart keeps the data, and does not write the initial data again', async (t) => {
  const first = await startPlatform(t)
  const json = { title: 'Kept', slug: 'kept', summary: 'Still there.' }
  const created = await first.askAs('writer', '/api/pages', { json })
  await first.askAs('writer', '/api/posts/pst_0007', { method: 'DELETE' })
  await first.askAs('ada', '/api/account', { method: 'PATCH', json: { display_name: 'Ada' } })
  const before = await readEverything(first)
  await first.close()
  const second = await startPlatform(t, first.databasePath)
  t.same(await readEverything(second), before)
  t.same((await second.askAs('reader', `/api/pages/${String(created.json['id'])}`)).json, created.json)
  t.equal((await second.askAs('reader', '/api/posts/pst_0007')).status, 404)
  t.equal((await second.askAs('ada', '/api/account')).json['display_name'], 'Ada')
})

t.test('two new databases have equal content', async (t) => {
  const folder = t.testdir()
  const one = await startPlatform(t, join(folder, 'one.sqlite'))
  const other = await startPlatform(t, join(folder, 'deeper/still/other.sqlite'))
  t.same(await readEverything(one), await readEverything(other))
})

t.test('two services that create one file concurrently write the initial data once', async (t) => {
  const databasePath = join(t.testdir(), 'shared.sqlite')
  const [one, other] = await Promise.all([startPlatform(t, databasePath), startPlatform(t, databasePath)])
  t.same(await readEverything(one), await readEverything(other))
  t.equal((await readAll((path) => one.askAs('reader', path), '/api/courses', 100)).length, 14)
})

t.test('close() closes idle connections', async (t) => {
  const platform = await startPlatform(t)
  t.equal((await platform.ask('/healthz')).status, 200)
  await platform.close()
  await t.rejects(platform.ask('/healthz'))
})

async function readEverything(platform: Platform): Promise<object> {
  const all: Record<string, unknown> = {}
  for (const family of families) {
    const ask = (path: string) => platform.askAs('reader', path)
    if (family.kind === 'collection') all[family.name] = await readAll(ask, familyPath(family), 100)
    else if (family.name !== 'account') all[family.name] = (await ask(familyPath(family))).json
  }
  return all
}
