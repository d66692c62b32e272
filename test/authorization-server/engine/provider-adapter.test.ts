import { join } from 'node:path'
import t from 'tap'
import { providerAdapter } from '../../../authorization-server/engine/provider-adapter.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { WHOSE } from '../../fixtures/whose-tokens.ts'

t.test('the second consumer of a code gets invalid_grant and ends the grant', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), { ...WHOSE, nowSeconds: () => 1_000 })
  t.teardown(() => store.close())
  const reported: string[] = []
  const adapter = providerAdapter({
    store,
    unusedClientSeconds: 60,
    pending: { perAddress: 1, total: 1 },
    source: () => undefined,
    onCodeReused: (grantId) => reported.push(grantId),
    rotation: () => undefined,
    isRevocation: () => false,
  })
  for (const grantId of ['raced', 'other']) {
    await adapter('Grant').upsert(grantId, { jti: grantId }, 60)
    await adapter('AuthorizationCode').upsert(`code-${grantId}`, { jti: 'code', grantId }, 60)
    await adapter('AccessToken').upsert(`token-${grantId}`, { jti: 'token', grantId }, 60)
  }
  await adapter('AuthorizationCode').consume('code-raced')
  t.ok(await adapter('AccessToken').find('token-raced'), 'the first consumer revokes nothing')
  t.same(reported, [])
  await t.rejects(adapter('AuthorizationCode').consume('code-raced') as Promise<void>, {
    message: 'invalid_grant',
  })
  t.same(reported, ['raced'], 'for the audit line')
  for (const [model, id] of [
    ['Grant', 'raced'],
    ['AuthorizationCode', 'code-raced'],
    ['AccessToken', 'token-raced'],
  ] as const)
    t.equal(await adapter(model).find(id), undefined, model)
  t.ok(await adapter('AccessToken').find('token-other'), 'another grant stays')
})

t.test('during a refresh the adapter collects writes without executing them', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), { ...WHOSE, nowSeconds: () => 1_000 })
  t.teardown(() => store.close())
  const writes: unknown[] = []
  let consumed = 0
  const adapter = providerAdapter({
    store,
    unusedClientSeconds: 60,
    pending: { perAddress: 1, total: 1 },
    source: () => undefined,
    onCodeReused: () => undefined,
    isRevocation: () => false,
    rotation: () => ({
      present: (stored) => stored,
      consume: () => void consumed++,
      write: (write) => void writes.push(write),
    }),
  })
  await store.artifacts('RefreshToken').upsert('used', { jti: 'used' }, 60)
  for (const model of ['RefreshToken', 'AccessToken']) {
    await adapter(model).upsert('next', { jti: 'next' }, 60)
    t.equal(await store.artifacts(model).find('next'), undefined, model)
  }
  t.match(writes, [
    { model: 'RefreshToken', id: 'next', expiresInSeconds: 60 },
    { model: 'AccessToken', id: 'next', expiresInSeconds: 60 },
  ])
  await adapter('RefreshToken').consume('used')
  t.equal(consumed, 1)
  t.strictSame(await store.artifacts('RefreshToken').find('used'), { jti: 'used' }, 'not consumed yet')
})
