// Before the fix, the server deleted the token and then its grant. When the store failed between these steps, the
// client got 503. The next request of the client got 200, because the token no longer existed. The grant and its
// refresh token stayed valid, and no gateway received a revocation.
import { join } from 'node:path'
import t from 'tap'
import { providerAdapter } from '../../authorization-server/engine/provider-adapter.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import { type Store, StoreError } from '../../authorization-server/store/store.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'

t.test('a token whose grant could not be deleted remains for the next attempt', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  t.teardown(() => store.close())
  let isAway = true
  const failing: Store = {
    ...store,
    artifacts: (model) => ({
      ...store.artifacts(model),
      revokeByGrantId: async (grantId) => {
        if (isAway) throw new StoreError('ERR_STORE_UNAVAILABLE', 'away')
        await store.artifacts(model).revokeByGrantId(grantId)
      },
    }),
  }
  const adapter = providerAdapter({
    store: failing,
    unusedClientSeconds: 60,
    pending: { perAddress: 1, total: 1 },
    source: () => undefined,
    onCodeReused: () => undefined,
    rotation: () => undefined,
    isRevocation: () => false,
  })
  const payload = { grantId: 'g' }
  for (const model of ['AccessToken', 'RefreshToken'])
    await adapter(model).upsert(model, { ...payload, jti: model }, 60)
  await adapter('Grant').upsert('g', { jti: 'g' }, 60)

  await t.rejects(Promise.resolve(adapter('AccessToken').destroy('AccessToken')), {
    code: 'ERR_STORE_UNAVAILABLE',
  })
  t.ok(await adapter('AccessToken').find('AccessToken'))
  isAway = false
  const from = await store.revocations.lastId()
  await adapter('AccessToken').destroy('AccessToken')
  for (const model of ['AccessToken', 'RefreshToken'])
    t.equal(await adapter(model).find(model), undefined, model)
  t.equal(await adapter('Grant').find('g'), undefined)
  t.equal((await store.revocations.readAfter(from, 10))?.length, 1)
})
