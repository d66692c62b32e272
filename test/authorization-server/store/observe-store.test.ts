import { join } from 'node:path'
import t from 'tap'
import { observeStore } from '../../../authorization-server/observe/watch-store.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type { Store, StoreError } from '../../../authorization-server/store/store.ts'
import { WHOSE } from '../../fixtures/whose-tokens.ts'

const OPERATIONS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'artifacts().find()': (store) => store.artifacts('Session').find('id'),
  'artifacts().upsert()': (store) => store.artifacts('Session').upsert('id', {}, 60),
  'accounts.findById()': (store) => store.accounts.findById('id'),
  'revocations.lastId()': (store) => store.revocations.lastId(),
  'exchange()': (store) => store.exchange({ model: 'RefreshToken', id: 'id' }, []),
  'sweep()': (store) => store.sweep(1_000),
}

t.test('observeStore() reports the failure of each operation and rethrows it', async (t) => {
  const failures: StoreError[] = []
  const open = openSqliteStore(join(t.testdir(), 'store.sqlite'), { ...WHOSE, nowSeconds: () => 1_000 })
  const store = observeStore(open, (error) => failures.push(error))
  for (const run of Object.values(OPERATIONS)) await run(store)
  t.strictSame(failures, [], 'a store that works')
  await store.close()
  for (const [name, run] of Object.entries(OPERATIONS)) {
    await t.rejects(run(store), { code: 'ERR_STORE_UNAVAILABLE', reason: 'failed' }, name)
    t.match(failures.splice(0), [{ code: 'ERR_STORE_UNAVAILABLE' }], `${name} is reported once`)
  }
})

t.test('observeStore() does not report the write probe', async (t) => {
  const failures: StoreError[] = []
  const open = openSqliteStore(join(t.testdir(), 'store.sqlite'), { ...WHOSE, nowSeconds: () => 1_000 })
  const store = observeStore(open, (error) => failures.push(error))
  await store.close()
  await t.rejects(store.probe(), { code: 'ERR_STORE_UNAVAILABLE' })
  t.strictSame(failures, [])
})
