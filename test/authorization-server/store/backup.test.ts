import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  openStore,
  SQLITE_FILE_NAME,
  type StoreConfig,
} from '../../../authorization-server/store/open-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { documentedBlock, readRepositoryFile } from '../../fixtures/repository-texts.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { TOKEN_CONFIG } from '../../fixtures/token-settings.ts'

// Runs the commands of docs/back-up-and-restore.md. `postgres-revocations.test.ts` runs the commands for PostgreSQL.

const GUIDE = readRepositoryFile('docs/back-up-and-restore.md')

/** Runs a command of the guide after the replacement of some words. */
function runDocumented(command: string, words: Readonly<Record<string, string>>): void {
  const [name = '', ...args] = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) =>
    Object.entries(words).reduce((text, [from, to]) => text.replace(from, () => to), quoted ?? word),
  )
  execFileSync(name, args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

async function open(t: Test, config: Pick<StoreConfig, 'store'> & Partial<StoreConfig>): Promise<Store> {
  const store = await openStore(
    { ...TOKEN_CONFIG, dataDir: '/nowhere', redis: undefined, ...config },
    { nowSeconds: () => 1_000 },
  )
  t.teardown(() => store.close())
  return store
}

t.test('a backup of SQLite while the server runs contains each acknowledged write', async (t) => {
  const folder = t.testdir({ restored: {} })
  const store = await open(t, { store: { type: 'sqlite' }, dataDir: folder })
  await store.artifacts('RefreshToken').upsert('token', { jti: 'token' }, 900)
  const copy = join(folder, 'restored', SQLITE_FILE_NAME)
  runDocumented(documentedBlock('docs/back-up-and-restore.md', 'sqlite3 authorization-server.sqlite'), {
    'authorization-server.sqlite': join(folder, SQLITE_FILE_NAME),
    'copy.sqlite': copy,
  })
  const restored = await open(t, { store: { type: 'sqlite' }, dataDir: join(folder, 'restored') })
  t.match(await restored.artifacts('RefreshToken').find('token'), { jti: 'token' })
})

t.test('the command for pods writes a backup of SQLite to standard output', async (t) => {
  const folder = t.testdir({ restored: {} })
  const store = await open(t, { store: { type: 'sqlite' }, dataDir: folder })
  await store.artifacts('RefreshToken').upsert('token', { jti: 'token' }, 900)
  const block = documentedBlock('docs/back-up-and-restore.md', 'kubectl exec')
  const [, script = ''] = /-- node --eval '([^']+)' > copy\.sqlite/.exec(block) ?? []
  const copy = join(folder, 'copy.sqlite')
  const local = script.replaceAll('/var/lib/scopegate', folder).replaceAll('/tmp/copy.sqlite', copy)
  const output = execFileSync(process.execPath, ['--eval', local], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.notOk(existsSync(copy), 'the pod keeps no copy')
  writeFileSync(join(folder, 'restored', SQLITE_FILE_NAME), output)
  const restored = await open(t, { store: { type: 'sqlite' }, dataDir: join(folder, 'restored') })
  t.match(await restored.artifacts('RefreshToken').find('token'), { jti: 'token' })
})

t.test('a backup of Redis while the server runs contains each acknowledged write', async (t) => {
  const folder = t.testdir({ first: {}, restored: {} })
  const redis = await startRedis({ folder: join(folder, 'first'), keepsData: true })
  t.teardown(() => redis.stop())
  const store = await open(t, { store: { type: 'redis' }, redis: { url: redis.url } })
  await store.artifacts('RefreshToken').upsert('token', { jti: 'token' }, 900)
  const dump = join(folder, 'grants.rdb')
  runDocumented(documentedBlock('docs/back-up-and-restore.md', '--rdb grants.rdb'), {
    $REDIS_URL: redis.url,
    'grants.rdb': dump,
  })
  copyFileSync(dump, join(folder, 'restored', 'dump.rdb'))
  const other = await startRedis({ folder: join(folder, 'restored') })
  t.teardown(() => other.stop())
  const command = 'redis-cli -u "$REDIS_URL" config set appendonly yes'
  t.ok(GUIDE.includes(command))
  runDocumented(command, { $REDIS_URL: other.url })
  const restored = await open(t, { store: { type: 'redis' }, redis: { url: other.url } })
  t.match(await restored.artifacts('RefreshToken').find('token'), { jti: 'token' })
})
