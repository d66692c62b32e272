import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type ProviderAdapterOptions,
  providerAdapter,
} from '../../../authorization-server/engine/provider-adapter.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

t.test('the second consumer of a code gets invalid_grant and ends the grant', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
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
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
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

function open(t: Test, options: Partial<ProviderAdapterOptions> = {}) {
  const clock = { now: 1_000 }
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => clock.now,
  })
  t.teardown(() => store.close())
  const adapter = providerAdapter({
    store,
    unusedClientSeconds: 60,
    pending: { perAddress: 1, total: 1 },
    source: () => ({ address: 'address', network: 'network' }),
    onCodeReused: () => undefined,
    rotation: () => undefined,
    isRevocation: () => false,
    ...options,
  })
  return { clock, store, adapter }
}

t.test('a client is stored with the hash of its secret, and expires without a grant', async (t) => {
  const { clock, store, adapter } = open(t)
  const forEver = undefined as unknown as number
  await adapter('Client').upsert('confidential', { client_secret: 'secret', client_name: 'A' }, forEver)
  await adapter('Client').upsert('public', { client_name: 'B' }, 70)
  t.strictSame(await store.artifacts('Client').find('confidential'), {
    client_secret: 'sha256.K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols',
    client_name: 'A',
  })
  clock.now = 1_059
  t.ok(await adapter('Client').find('confidential'))
  clock.now = 1_060
  t.equal(await adapter('Client').find('confidential'), undefined)
  t.strictSame(await adapter('Client').find('public'), { client_name: 'B' })
})

t.test('the adapter limits only unfinished authorization requests from a known source', async (t) => {
  for (const [model, isBounded] of [
    ['Interaction', true],
    ['PushedAuthorizationRequest', true],
    ['Session', false],
  ] as const) {
    const { adapter } = open(t)
    for (const id of ['one', 'two']) await adapter(model).upsert(id, { jti: id }, 60)
    t.equal((await adapter(model).find('one')) === undefined, isBounded, model)
    t.ok(await adapter(model).find('two'), model)
  }
  const { adapter } = open(t, { source: () => undefined })
  for (const id of ['one', 'two']) await adapter('Interaction').upsert(id, { jti: id }, 60)
  t.ok(await adapter('Interaction').find('one'), 'without a source')
})

t.test('the adapter does not limit artifacts without an expiry', async (t) => {
  const { adapter } = open(t)
  const forEver = undefined as unknown as number
  for (const id of ['one', 'two']) await adapter('Interaction').upsert(id, { jti: id }, forEver)
  t.ok(await adapter('Interaction').find('one'))
})

t.test('§2.1 of RFC 7009: during a revocation find() returns an expired token as valid', async (t) => {
  let isRevocation = true
  const { clock, adapter } = open(t, { isRevocation: () => isRevocation })
  await adapter('AccessToken').upsert('expires', { jti: 'expires', exp: 1_060 }, 60)
  await adapter('AccessToken').upsert('for ever', { jti: 'for ever' }, 60)
  clock.now = 1_060
  t.strictSame(await adapter('AccessToken').find('expires'), { jti: 'expires', exp: 9_007_199_254_740_991 })
  t.strictSame(await adapter('AccessToken').find('for ever'), { jti: 'for ever' })
  t.equal(await adapter('AccessToken').find('unknown'), undefined)
  isRevocation = false
  t.equal(await adapter('AccessToken').find('expires'), undefined)
  clock.now = 1_059
  t.strictSame(await adapter('AccessToken').find('expires'), { jti: 'expires', exp: 1_060 })
})

t.test('the adapter finds artifacts by session UID and by user code', async (t) => {
  const { adapter } = open(t)
  await adapter('Session').upsert('s', { jti: 's', uid: 'uid', accountId: 'a' }, 60)
  await adapter('DeviceCode').upsert('d', { jti: 'd', userCode: 'CODE' }, 60)
  t.strictSame(await adapter('Session').findByUid('uid'), { uid: 'uid', accountId: 'a' })
  t.strictSame(await adapter('DeviceCode').findByUserCode('CODE'), { userCode: 'CODE' })
})

t.test('the second consumer of an artifact gets the error of the artifact model', async (t) => {
  const reported: string[] = []
  const { store, adapter } = open(t, { onCodeReused: (grantId) => reported.push(grantId) })
  const used = async (model: string): Promise<unknown> => {
    await adapter(model).upsert('used', { jti: 'used' }, 60)
    await adapter(model).consume('used')
    return (adapter(model).consume('used') as Promise<void>).catch(
      ({ error, error_description, error_detail }) => [error, error_description ?? error_detail],
    )
  }
  t.strictSame(await used('PushedAuthorizationRequest'), [
    'invalid_request_uri',
    'request_uri was already used',
  ])
  const lost = ['invalid_grant', 'grant request is invalid']
  t.strictSame(await used('AuthorizationCode'), lost)
  t.strictSame(await used('RefreshToken'), lost)
  t.strictSame(reported, [], 'a code without a grant ends none')
  await store.artifacts('RefreshToken').upsert('used', { jti: 'used', grantId: 'g' }, 60)
  await store.artifacts('Grant').upsert('g', { jti: 'g' }, 60)
  await t.rejects(adapter('RefreshToken').consume('used') as Promise<void>, {
    message: 'invalid_grant',
    error_detail: 'a concurrent request used this single-use value first',
  })
  t.ok(await adapter('Grant').find('g'), 'only a code ends its grant')
})

t.test(
  'destroy() ends the grant of a token, also of an expired token, and ends no grant for other models',
  async (t) => {
    for (const [model, ends] of [
      ['AccessToken', true],
      ['RefreshToken', true],
      ['AuthorizationCode', false],
      ['Session', false],
    ] as const) {
      const { clock, adapter } = open(t)
      await adapter('Grant').upsert('g', { jti: 'g' }, 600)
      await adapter(model).upsert('one', { jti: 'one', grantId: 'g' }, 60)
      clock.now = 1_060
      await adapter(model).destroy('one')
      t.equal((await adapter('Grant').find('g')) === undefined, ends, model)
    }
    const { adapter, store } = open(t)
    await adapter('Grant').upsert('g', { jti: 'g' }, 60)
    await adapter('AccessToken').upsert('of the grant', { jti: 'a', grantId: 'g' }, 60)
    await adapter('AccessToken').upsert('of no grant', { jti: 'a' }, 60)
    await adapter('AccessToken').destroy('of no grant')
    t.equal(await adapter('AccessToken').find('of no grant'), undefined)
    t.ok(await adapter('AccessToken').find('of the grant'))
    const from = await store.revocations.lastId()
    await adapter('Grant').destroy('g')
    t.equal(await adapter('AccessToken').find('of the grant'), undefined)
    t.equal((await store.revocations.readAfter(from, 10))?.length, 1)
  },
)

t.test('revokeByGrantId() revokes the grant', async (t) => {
  const { adapter } = open(t)
  await adapter('AccessToken').upsert('one', { jti: 'one', grantId: 'g' }, 60)
  await adapter('RefreshToken').revokeByGrantId('g')
  t.equal(await adapter('AccessToken').find('one'), undefined)
})

t.test('during a refresh the adapter executes the writes of other models', async (t) => {
  const { adapter } = open(t, {
    rotation: () => ({
      present: () => undefined,
      consume: () => t.fail('consumed'),
      write: () => t.fail('written'),
    }),
  })
  await adapter('Grant').upsert('g', { jti: 'g' }, 60)
  t.strictSame(await adapter('Grant').find('g'), { jti: 'g' })
  await adapter('AuthorizationCode').upsert('c', { jti: 'c' }, 60)
  await adapter('AuthorizationCode').consume('c')
  t.strictSame(await adapter('AuthorizationCode').find('c'), { jti: 'c', consumed: 1_000 })
  t.equal(await adapter('RefreshToken').find('g'), undefined, 'the rotation decides')
})
