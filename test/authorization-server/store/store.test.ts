import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { openStore } from '../../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type {
  ListedArtifact,
  LoggedRevocation,
  Store,
  StoredAccount,
} from '../../../authorization-server/store/store.ts'
import { isMarkedRevoked } from '../../../gateway/tokens/revocation/revoked-tokens.ts'
import { revocationName } from '../../../platform/revocation-name.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { type Clock, type RunningEngine, STORE_ENGINES } from '../../fixtures/store-engines.ts'
import { TOKEN_CONFIG, TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const SECRET = 'tokenValueThatMustNotBeFoundAtRest0123456789'

for (const engine of STORE_ENGINES)
  t.test(`${engine.name} implements the store contract`, async (t) => contract(t, await engine.start(t)))

async function contract(
  t: Test,
  { config, open: openWith, passTime, rawContent }: RunningEngine,
): Promise<void> {
  const open = async (t: Test, clock: Clock = { now: 1_000 }): Promise<Store> => {
    const store = await openWith(clock)
    t.teardown(() => store.close())
    return store
  }

  t.test('find() returns undefined for an unknown ID, or an ID of another model', async (t) => {
    const store = await open(t)
    await store.artifacts('AccessToken').upsert('of-another-model', { kind: 'AccessToken' }, 60)
    t.equal(await store.artifacts('AccessToken').find('unknown'), undefined)
    t.equal(await store.artifacts('RefreshToken').find('of-another-model'), undefined)
    t.equal(await store.artifacts('AccessToken').find(''), undefined)
  })

  t.test('list() returns each artifact of the model that has not expired, without its id', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    const artifacts = store.artifacts('Listed')
    const ids = Array.from({ length: 1_200 }, (_, at) => `listed-${at}`)
    await Promise.all(ids.map((id) => artifacts.upsert(id, { jti: id, kind: 'Listed' }, 600)))
    await artifacts.upsert('forever', { jti: 'forever', kind: 'Listed' }, undefined)
    await artifacts.upsert('short', { jti: 'short', kind: 'Listed' }, 60)
    await store.artifacts('ListedToo').upsert('of-another-model', { jti: 'of-another-model' }, 600)
    await passTime(clock, 60)
    const found = await listAll(store, 'Listed')
    t.strictSame([...found.keys()].sort(), [...ids, 'forever'].map(hashId).sort())
    t.strictSame(found.get(hashId('listed-7'))?.payload, { kind: 'Listed' })
    t.type(found.get(hashId('listed-7'))?.expiresAtSeconds, 'number')
    t.equal(found.get(hashId('forever'))?.expiresAtSeconds, undefined)
    await artifacts.destroyByHash(hashId('listed-7'))
    t.equal(await artifacts.find('listed-7'), undefined)
    t.equal((await listAll(store, 'Listed')).size, ids.length)
  })

  t.test('listByAccount() returns the artifacts of one account and one model', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    const write = (model: string, id: string, accountId: string, seconds = 600) =>
      store.artifacts(model).upsert(id, { jti: id, accountId, grantId: `grant of ${id}` }, seconds)
    for (const id of ['a', 'b', 'c']) await write('RefreshToken', `own-${id}`, 'lister')
    await write('RefreshToken', 'of-another-account', 'another lister')
    await write('AccessToken', 'of-another-model', 'lister')
    await write('RefreshToken', 'expired', 'lister', 60)
    await passTime(clock, 60)
    const found = await store.artifacts('RefreshToken').listByAccount('lister')
    t.strictSame(found.map(({ idHash }) => idHash).sort(), ['own-a', 'own-b', 'own-c'].map(hashId).sort())
    t.match(found[0]?.payload, { accountId: 'lister', grantId: /^grant of own/ })
    t.strictSame(await store.artifacts('RefreshToken').listByAccount('unknown'), [])
  })

  t.test('findByHash() finds an artifact that has not expired, without its id', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    const sessions = store.artifacts('Session')
    await sessions.upsert('hashed', { jti: 'hashed', accountId: 'a', grantId: 'g' }, 600)
    await sessions.upsert('hashed-expired', { jti: 'hashed-expired', accountId: 'a' }, 60)
    await passTime(clock, 60)
    t.strictSame(await sessions.findByHash(hashId('hashed')), { accountId: 'a', grantId: 'g' })
    t.equal(await sessions.findByHash(hashId('hashed-expired')), undefined)
    t.equal(await sessions.findByHash('hashed'), undefined)
    t.equal(await sessions.findByHash('\0'), undefined, 'a text that is not a hash')
    t.equal(await sessions.findByHash('~x'), undefined)
    t.equal(await store.artifacts('Grant').findByHash(hashId('hashed')), undefined)
  })

  t.test('list() returns the grants and sessions of all accounts', async (t) => {
    const store = await open(t)
    const ids = Array.from({ length: 30 }, (_, at) => `grantor-${at}`)
    for (const id of ids) {
      await store.accounts.insert(anAccount({ id, username: id }))
      for (const model of ['Grant', 'Session'])
        await store.artifacts(model).upsert(`${model} of ${id}`, { jti: 'x', accountId: id }, 60)
    }
    for (const model of ['Grant', 'Session']) {
      const found = await listAll(store, model)
      for (const id of ids) t.ok(found.has(hashId(`${model} of ${id}`)), `${model} of ${id}`)
    }
  })

  t.test('revokeByGrantHash() revokes the grant and logs the revocation, once', async (t) => {
    const store = await open(t)
    const { next } = await heard(t, store)
    await store.artifacts('RefreshToken').upsert('by-hash', { jti: 'by-hash', grantId: 'known-by-hash' }, 60)
    t.equal(await store.artifacts('Grant').revokeByGrantHash(hashId('known-by-hash')), true)
    t.equal(await store.artifacts('RefreshToken').find('by-hash'), undefined)
    t.match(await next(), { revocation: { grant: hashId('known-by-hash') } })
    t.equal(await store.artifacts('Grant').revokeByGrantHash(hashId('known-by-hash')), false)
  })

  t.test('consume() returns false for an unknown, expired or consumed artifact', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    const codes = store.artifacts('AuthorizationCode')
    t.equal(await codes.consume('unknown'), false)
    await codes.upsert('code-1', { jti: 'code-1' }, 60)
    t.equal(await codes.consume('code-1'), true)
    t.equal(await codes.consume('code-1'), false)
    await codes.upsert('code-2', { jti: 'code-2' }, 60)
    await passTime(clock, 60)
    t.equal(await codes.consume('code-2'), false, 'expired')
  })

  t.test('consume() succeeds once for 100 callers over two stores', async (t) => {
    const [one, two] = [await open(t), await open(t)]
    await one.artifacts('AuthorizationCode').upsert('raced', { jti: 'raced' }, 60)
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (i % 2 === 0 ? one : two).artifacts('AuthorizationCode').consume('raced'),
      ),
    )
    t.equal(results.filter(Boolean).length, 1)
    t.match(await two.artifacts('AuthorizationCode').find('raced'), { jti: 'raced', consumed: Number })
  })

  t.test('claim() grants an ID to one of 100 callers over two stores, until it expires', async (t) => {
    const clock = { now: 1_000 }
    const [one, two] = [await open(t, clock), await open(t, clock)]
    const claims = () =>
      Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          (i % 2 === 0 ? one : two).artifacts('ReplayDetection').claim('proof', 600),
        ),
      )
    t.equal((await claims()).filter(Boolean).length, 1)
    await passTime(clock, 500)
    t.equal(await one.artifacts('ReplayDetection').claim('proof', 60), false)
    t.equal(await one.artifacts('Interaction').claim('proof', 600), true, 'an ID of another model')
    t.equal(await two.artifacts('ReplayDetection').claim('another proof', 600), true)
    await passTime(clock, 100)
    t.equal((await claims()).filter(Boolean).length, 1, 'the ID is free after expiry')
  })

  t.test('upsertBounded() evicts the oldest artifact of the same address', async (t) => {
    const pending = (await open(t)).artifacts('BoundedOfOneSource')
    const admit = (id: string, address: string) =>
      pending.upsertBounded(id, { jti: id }, 60, {
        source: { address, network: 'one network' },
        bound: { perAddress: 2, total: 100 },
      })
    await admit('other', 'other address')
    for (const id of ['first', 'second']) await admit(id, 'one address')
    await admit('first', 'one address')
    await admit('first', 'third address')
    await admit('third', 'one address')
    t.equal(await pending.find('first'), undefined, 'an update changes neither age nor source')
    for (const id of ['other', 'second', 'third']) t.match(await pending.find(id), { jti: id })
    t.match(await pending.find('other'), { jti: 'other' })
  })

  t.test(
    'upsertBounded() evicts from the network with the most artifacts when the total exceeds the bound',
    async (t) => {
      const clock = { now: 1_000 }
      const pending = (await open(t, clock)).artifacts('BoundedInAll')
      const admit = (id: string, network: string, address = network) => {
        clock.now += 1
        return pending.upsertBounded(id, { jti: id }, 60, {
          source: { address, network },
          bound: { perAddress: 3, total: 4 },
        })
      }
      await admit('old', 'a person')
      for (const id of ['one', 'two', 'three', 'four']) await admit(id, 'a crowd')
      t.equal(await pending.find('one'), undefined)
      await admit('new', 'another person')
      t.equal(
        await pending.find('two'),
        undefined,
        'five exceed the bound, and the largest network has three',
      )
      for (const id of ['old', 'three', 'four', 'new']) t.match(await pending.find(id), { jti: id })
      for (const id of ['5', '6']) await admit(id, `network ${id}`)
      t.equal(await pending.find('three'), undefined)
      t.equal(
        await pending.find('old'),
        undefined,
        'with one artifact for each network, the oldest is evicted',
      )
      for (const id of ['four', 'new', '5', '6']) t.match(await pending.find(id), { jti: id })
    },
  )

  t.test(
    'upsertBounded() evicts from a network with many addresses that have one artifact each',
    async (t) => {
      const pending = (await open(t)).artifacts('BoundedOfOneNetwork')
      const admit = (id: string, network: string) =>
        pending.upsertBounded(id, { jti: id }, 60, {
          source: { address: `address of ${id}`, network },
          bound: { perAddress: 2, total: 4 },
        })
      for (const id of ['alice', 'bob']) await admit(id, `network of ${id}`)
      for (let i = 0; i < 10; i++) await admit(`${i}`, 'one network')
      for (const id of ['alice', 'bob', '8', '9']) t.match(await pending.find(id), { jti: id })
      t.equal(await pending.find('7'), undefined)
      await pending.destroy('8')
      for (const id of ['10', '11']) await admit(id, 'one network')
      for (const id of ['alice', 'bob', '10', '11']) t.match(await pending.find(id), { jti: id })
    },
  )

  t.test('upsertBounded() evicts from the largest address of the largest network', async (t) => {
    const pending = (await open(t)).artifacts('BoundedOfNeighbours')
    const admit = (id: string, address: string, network = 'one network') =>
      pending.upsertBounded(id, { jti: id }, 60, {
        source: { address, network },
        bound: { perAddress: 4, total: 4 },
      })
    await admit('neighbour', 'small address')
    for (const id of ['1', '2', '3', '4']) await admit(id, 'large address')
    t.equal(await pending.find('1'), undefined)
    for (const id of ['neighbour', '2', '3', '4']) t.match(await pending.find(id), { jti: id })
    for (const id of ['2', '3']) await pending.destroy(id)
    for (const id of ['5', '6', '7']) await admit(id, `address ${id}`, `network ${id}`)
    t.equal(
      await pending.find('neighbour'),
      undefined,
      'with one artifact for each address, the oldest is evicted',
    )
    for (const id of ['4', '5', '6', '7']) t.match(await pending.find(id), { jti: id })
  })

  t.test('upsertBounded() counts neither destroyed nor expired artifacts', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    const pending = store.artifacts('BoundedThatLeave')
    const admit = (id: string) =>
      pending.upsertBounded(id, { jti: id }, 60, {
        source: { address: 'one', network: 'one' },
        bound: { perAddress: 2, total: 2 },
      })
    await admit('stays')
    for (let i = 0; i < 5; i++) {
      await admit(`finished ${i}`)
      await pending.destroy(`finished ${i}`)
    }
    t.match(await pending.find('stays'), { jti: 'stays' })
    await admit('also stays')
    await passTime(clock, 60)
    await store.sweep(clock.now)
    for (const id of ['later', 'latest']) await admit(id)
    for (const id of ['later', 'latest']) t.match(await pending.find(id), { jti: id })
  })

  t.test('upsertBounded() keeps the same artifacts as SQLite', async (t) => {
    const file = join(t.testdir(), 'reference.sqlite')
    const stores = [
      await open(t),
      openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }),
    ] as const
    t.teardown(() => stores[1].close())
    const step = fc.record({
      network: fc.nat(4),
      address: fc.nat(3),
      total: fc.integer({ min: 4, max: 12 }),
      destroyed: fc.option(fc.nat(39), { freq: 8 }),
    })
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
        runs += 1
        const kept: boolean[][] = []
        // One store after the other, because SQLite blocks the process, and commands to the other store would time out.
        for (const store of stores) {
          const pending = store.artifacts(`BoundedLikeSqlite${runs}`)
          for (const [i, { network, address, total, destroyed }] of steps.entries()) {
            const source = { network: `network ${network}`, address: `address ${address} of ${network}` }
            await pending.upsertBounded(`${i}`, {}, 60 + i, { source, bound: { perAddress: 4, total } })
            if (destroyed !== null) await pending.destroy(`${destroyed}`)
          }
          const found = await Promise.all(steps.map((_, i) => pending.find(`${i}`)))
          kept.push(found.map((artifact) => artifact !== undefined))
        }
        const [own, reference] = kept
        t.same(own, reference)
      }),
      { numRuns: 5 },
    )
  })

  t.test('upsertBounded() keeps its bounds for 100 callers over two stores', async (t) => {
    const [one, two] = [await open(t), await open(t)]
    const id = (i: number) => `id ${i}`
    const all = Array.from({ length: 100 }, (_, i) => i)
    await Promise.all(
      all.map((i) =>
        (i % 2 === 0 ? one : two).artifacts('BoundedAtOnce').upsertBounded(id(i), { jti: id(i) }, 60, {
          source: { address: `address ${i % 20}`, network: `network ${i % 10}` },
          bound: { perAddress: 4, total: 30 },
        }),
      ),
    )
    const found = await Promise.all(all.map((i) => one.artifacts('BoundedAtOnce').find(id(i))))
    t.equal(found.filter((artifact) => artifact !== undefined).length, 30)
  })

  t.test('attempts.add() counts 100 callers over two stores up to the limit', async (t) => {
    const [one, two] = [await open(t), await open(t)]
    const counters = (at: number) => [
      { id: `pair ${at % 4}`, limit: 100 },
      { id: 'parallel address', limit: 12 },
    ]
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? one : two).attempts.add(counters(at), 300)),
    )
    t.equal(results.filter((full) => full === undefined).length, 12)
    const rejected = results.filter((full) => full !== undefined)
    t.equal(rejected.filter(({ isFirst }) => isFirst).length, 1, 'one caller reports the rejection')
    t.match(rejected[0], { id: 'parallel address', endsInSeconds: 300 })
    t.match(await two.attempts.check(counters(0)), { id: 'parallel address', isFirst: false })
    t.equal(await one.attempts.check([{ id: 'pair 0', limit: 12 }]), undefined)
    t.notMatch(await rawContent(), 'parallel address', 'the store has only the hash of the id')
  })

  t.test('attempts.add() counts nothing when one counter is at its limit', async (t) => {
    const { attempts } = await open(t)
    const [full, other] = [
      { id: 'full', limit: 1 },
      { id: 'other', limit: 1 },
    ]
    t.equal(await attempts.add([full], 300), undefined)
    t.match(await attempts.add([other, full], 300), { id: 'full', isFirst: true })
    t.match(await attempts.add([full, other], 300), { id: 'full', isFirst: false })
    t.equal(await attempts.check([other]), undefined)
  })

  t.test('attempts: a window ends after its time, and the next window counts from the start', async (t) => {
    const clock = { now: 1_000 }
    const { attempts, sweep } = await open(t, clock)
    const counter = { id: 'window', limit: 2 }
    for (const _ of [1, 2]) t.equal(await attempts.add([counter], 300), undefined)
    await passTime(clock, 200)
    t.match(await attempts.add([counter], 300), { endsInSeconds: 100, isFirst: true })
    await passTime(clock, 100)
    t.equal(await attempts.check([counter]), undefined)
    for (const _ of [1, 2]) t.equal(await attempts.add([counter], 300), undefined)
    t.match(await attempts.check([counter]), { endsInSeconds: 300, isFirst: true })
    await passTime(clock, 300)
    await sweep(clock.now)
    t.equal(await attempts.add([counter], 300), undefined)
  })

  t.test('attempts.release() removes one counter, and reduces the other one, but not below 0', async (t) => {
    const { attempts } = await open(t)
    const [removed, reduced] = [
      { id: 'removed', limit: 2 },
      { id: 'reduced', limit: 2 },
    ]
    for (const _ of [1, 2]) await attempts.add([removed, reduced], 300)
    await attempts.release({ removed: 'removed', reduced: 'reduced' })
    t.equal(await attempts.check([removed, reduced]), undefined)
    t.equal(await attempts.add([removed, reduced], 300), undefined)
    t.match(await attempts.check([removed, reduced]), { id: 'reduced' })
    for (const _ of [1, 2, 3]) await attempts.release({ removed: 'unknown', reduced: 'reduced' })
    for (const _ of [1, 2]) t.equal(await attempts.add([reduced], 300), undefined)
    t.match(await attempts.add([reduced], 300), { id: 'reduced' })
  })

  t.test('exchange() consumes and writes in one step, once for 100 callers over two stores', async (t) => {
    const [one, two] = [await open(t), await open(t)]
    await one.artifacts('RefreshToken').upsert('used', { jti: 'used', grantId: 'g' }, 60)
    const exchange = (i: number) =>
      (i % 2 === 0 ? one : two).exchange({ model: 'RefreshToken', id: 'used' }, [
        { model: 'RefreshToken', id: `next-${i}`, payload: { jti: 'x', grantId: 'g' }, expiresInSeconds: 60 },
        {
          model: 'Session',
          id: `session-${i}`,
          payload: { uid: `exchanged-${i}` },
          expiresInSeconds: undefined,
        },
      ])
    const results = await Promise.all(Array.from({ length: 100 }, (_, i) => exchange(i)))
    t.equal(results.filter(Boolean).length, 1)
    for (const [i, isFirst] of results.entries()) {
      t.equal((await one.artifacts('RefreshToken').find(`next-${i}`)) !== undefined, isFirst)
      t.equal((await two.artifacts('Session').findByUid(`exchanged-${i}`)) !== undefined, isFirst)
    }
    t.match(await one.artifacts('RefreshToken').find('used'), { consumed: Number })
    await one.artifacts('Grant').revokeByGrantId('g')
    t.equal(await two.artifacts('RefreshToken').find(`next-${results.indexOf(true)}`), undefined)
  })

  t.test(
    'exchange() writes no artifact when the exchanged artifact is unknown, expired or revoked',
    async (t) => {
      const clock = { now: 1_000 }
      const store = await open(t, clock)
      const tokens = store.artifacts('RefreshToken')
      const exchange = (id: string) =>
        store.exchange({ model: 'RefreshToken', id }, [
          { model: 'AccessToken', id: `from-${id}`, payload: {}, expiresInSeconds: 60 },
        ])
      await tokens.upsert('revoked', { jti: 'revoked', grantId: 'over' }, 600)
      await tokens.revokeByGrantId('over')
      await tokens.upsert('expired', { jti: 'expired' }, 60)
      await passTime(clock, 60)
      for (const id of ['unknown', 'revoked', 'expired']) {
        t.equal(await exchange(id), false, id)
        t.equal(await store.artifacts('AccessToken').find(`from-${id}`), undefined, id)
      }
    },
  )

  t.test('upsert() does not make a consumed artifact usable again', async (t) => {
    const codes = (await open(t)).artifacts('AuthorizationCode')
    await codes.upsert('again', { jti: 'again' }, 60)
    t.equal(await codes.consume('again'), true)
    await codes.upsert('again', { jti: 'again', scope: 'openid' }, 60)
    t.equal(await codes.consume('again'), false)
    t.match(await codes.find('again'), { jti: 'again', scope: 'openid', consumed: Number })
  })

  t.test('replace() writes only an artifact that exists, and destroy() reports the removal', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    const sessions = store.artifacts('Session')
    const session = (uid: string, acr: string) => ({ jti: 'replaced', uid, acr, accountId: 'replacer' })
    t.equal(await sessions.replace('replaced', session('uid-r', 'one'), 60), false)
    t.equal(await sessions.find('replaced'), undefined)
    await sessions.upsert('replaced', session('uid-r', 'one'), 60)
    t.equal(await sessions.replace('replaced', session('uid-r', 'two'), 600), true)
    await passTime(clock, 120)
    t.match(await sessions.find('replaced'), { jti: 'replaced', acr: 'two' })
    t.match(await sessions.findByUid('uid-r'), { acr: 'two' })
    t.equal((await sessions.listByAccount('replacer')).length, 1)
    t.equal(await sessions.destroy('replaced'), true)
    t.equal(await sessions.destroy('replaced'), false)
    t.equal(await sessions.destroyByHash(hashId('replaced')), false)
    t.equal(await sessions.replace('replaced', session('uid-r', 'three'), 600), false)
    t.strictSame(await sessions.listByAccount('replacer'), [])
    await sessions.upsert('replaced', session('uid-r', 'four'), 60)
    await passTime(clock, 60)
    t.equal(await sessions.replace('replaced', session('uid-r', 'five'), 600), false, 'expired')
    const tokens = store.artifacts('RefreshToken')
    await tokens.upsert('used', { jti: 'used', grantId: 'replaced grant' }, 600)
    await tokens.consume('used')
    t.equal(await tokens.replace('used', { jti: 'used', grantId: 'replaced grant' }, 600), true)
    t.match(await tokens.find('used'), { consumed: Number })
  })

  t.test('find() returns undefined for an expired artifact', async (t) => {
    const clock = { now: 1_000 }
    const tokens = (await open(t, clock)).artifacts('AccessToken')
    await tokens.upsert('short', { jti: 'short' }, 600)
    await tokens.upsert('for-ever', { client_id: 'for-ever' }, undefined)
    await passTime(clock, 500)
    t.strictSame(await tokens.find('short'), { jti: 'short' })
    await passTime(clock, 100)
    t.equal(await tokens.find('short'), undefined)
    await passTime(clock, 9_000_000)
    t.strictSame(
      await tokens.find('for-ever'),
      { client_id: 'for-ever' },
      'a payload without jti is unchanged',
    )
  })

  t.test('find() returns a new copy each time, equal to the written payload', async (t) => {
    const tokens = (await open(t)).artifacts('AccessToken')
    const payload = { jti: 'copy', list: [1, 'two', null], text: '\u0000"\\ü𝄞\u2028', nested: { a: true } }
    await tokens.upsert('copy', payload, 60)
    const found = await tokens.find('copy')
    t.strictSame(found, payload)
    Object.assign(found ?? {}, { nested: 'changed' })
    t.strictSame(await tokens.find('copy'), payload)
  })

  t.test('findByUid() finds a session after its ID changed, and never returns the ID', async (t) => {
    const sessions = (await open(t)).artifacts('Session')
    await sessions.upsert('cookie-1', { jti: 'cookie-1', uid: 'uid-1', accountId: 'a' }, 60)
    await sessions.destroy('cookie-1')
    t.equal(await sessions.findByUid('uid-1'), undefined)
    await sessions.upsert('cookie-2', { jti: 'cookie-2', uid: 'uid-1', accountId: 'b' }, 60)
    t.strictSame(await sessions.findByUid('uid-1'), { uid: 'uid-1', accountId: 'b' })
    t.equal(await sessions.findByUid('cookie-2'), undefined)
  })

  t.test('findByUserCode() finds an artifact by its user code', async (t) => {
    const clock = { now: 1_000 }
    const devices = (await open(t, clock)).artifacts('DeviceCode')
    await devices.upsert('device-1', { jti: 'device-1', userCode: 'ABCD-EFGH' }, 60)
    t.strictSame(await devices.findByUserCode('ABCD-EFGH'), { userCode: 'ABCD-EFGH' })
    await passTime(clock, 60)
    t.equal(await devices.findByUserCode('ABCD-EFGH'), undefined)
  })

  t.test('revokeByGrantId() removes only the artifacts of the grant', async (t) => {
    const store = await open(t)
    const models = ['AuthorizationCode', 'AccessToken', 'RefreshToken']
    for (const grantId of ['grant-1', 'grant-2']) {
      await store.artifacts('Grant').upsert(grantId, { jti: grantId, accountId: 'a' }, 900)
      for (const model of models)
        await store.artifacts(model).upsert(`${model}-of-${grantId}`, { jti: 'x', grantId }, 60)
    }
    await store.artifacts('AccessToken').revokeByGrantId('grant-1')
    for (const model of models) {
      t.equal(await store.artifacts(model).find(`${model}-of-grant-1`), undefined, model)
      t.ok(await store.artifacts(model).find(`${model}-of-grant-2`), model)
    }
    t.equal(await store.artifacts('Grant').find('grant-1'), undefined)
    t.ok(await store.artifacts('Grant').find('grant-2'))
  })

  t.test('revokeByGrantId() also removes a token with a longer lifetime', async (t) => {
    const clock = { now: 1_000 }
    const store = await open(t, clock)
    await store.artifacts('RefreshToken').upsert('long', { jti: 'long', grantId: 'grant-3' }, 10_000)
    await store.artifacts('AccessToken').upsert('short', { jti: 'short', grantId: 'grant-3' }, 10)
    await passTime(clock, 4_000)
    await store.artifacts('AccessToken').upsert('later', { jti: 'later', grantId: 'grant-3' }, 10)
    await store.artifacts('RefreshToken').revokeByGrantId('grant-3')
    t.equal(await store.artifacts('RefreshToken').find('long'), undefined)
    t.equal(await store.artifacts('AccessToken').find('later'), undefined)
  })

  t.test('revokeByGrantId() logs the grant once, for every process on the store', async (t) => {
    const store = await open(t)
    const other = await open(t)
    const [told, toldElsewhere] = [await heard(t, store), await heard(t, other)]
    const from = await store.revocations.lastId()
    await store.artifacts('AccessToken').upsert('at', { jti: 'at', grantId: 'logged' }, 60)
    await Promise.all(
      ['Grant', 'AccessToken', 'RefreshToken'].map((model) =>
        store.artifacts(model).revokeByGrantId('logged'),
      ),
    )
    await store.artifacts('Grant').revokeByGrantId('never-there')
    const logged = await store.revocations.readAfter(from, 10)
    t.match(logged, [
      {
        revocation: {
          issuer: TOKEN_SETTINGS.issuer,
          grant: hashId('logged'),
          token: undefined,
          subject: undefined,
        },
      },
    ])
    t.equal(logged?.length, 1)
    const [{ id = '', revocation } = {}] = logged ?? []
    const { atSeconds = 0, expiresAtSeconds } = revocation ?? {}
    t.ok(atSeconds > 0)
    t.equal(expiresAtSeconds, atSeconds + TOKEN_SETTINGS.accessTokenSeconds)
    t.same(await told.next(), { id, revocation })
    t.same(await toldElsewhere.next(), { id, revocation })
    t.same(await store.revocations.readAfter(id, 10), [])
    t.equal(await store.revocations.lastId(), id)
  })

  t.test(
    'readAfter() returns undefined for an ID of another store, an invalid ID, or a trimmed ID',
    async (t) => {
      const store = await open(t)
      const from = await revokeOne(store, 'a')
      await revokeOne(store, 'b')
      await revokeOne(store, 'c')
      t.equal((await store.revocations.readAfter(from, 2))?.length, 2)
      t.equal(await store.revocations.readAfter(from, 1), undefined)
      const all = await store.revocations.readAfter(undefined, 1_000)
      const grants = new Set(all?.map(({ revocation }) => revocation.grant))
      t.ok(new Set(['a', 'b', 'c'].map(hashId)).isSubsetOf(grants), 'the whole log')
      t.equal(await store.revocations.readAfter(undefined, 2), undefined, 'more than the limit')
      for (const id of ['', '0', 'junk', '0-0', `x${from}`, `${from}9`, `${from}\n`, '-1', 'é'.repeat(9_000)])
        t.equal(await store.revocations.readAfter(id, 10), undefined, id.slice(0, 20))
    },
  )

  t.test('the store contains no plaintext token, code, cookie or grant ID', async (t) => {
    const store = await open(t)
    const { length } = await rawContent()
    await store.artifacts('AccessToken').upsert(`at-${SECRET}`, { jti: `at-${SECRET}`, scope: 'seen' }, 60)
    await store.artifacts('Session').upsert(`se-${SECRET}`, { jti: `se-${SECRET}`, uid: 'u' }, 60)
    await store.artifacts('Interaction').upsert('interaction', { session: { cookie: SECRET, uid: 'u' } }, 60)
    await store.artifacts('AuthorizationCode').consume(`at-${SECRET}`)
    const raw = await rawContent()
    t.not(raw.length, length)
    t.match(raw, '"scope":"seen"')
    t.notMatch(raw, SECRET)
    t.strictSame(await store.artifacts('Interaction').find('interaction'), { session: { uid: 'u' } })
    t.match(await store.artifacts('AccessToken').find(`at-${SECRET}`), { jti: `at-${SECRET}` })
  })

  t.test('another process can read a written artifact', async (t) => {
    const first = await openWith({ now: 1_000 })
    await first.artifacts('Client').upsert('client-1', { client_id: 'client-1' }, undefined)
    await first.close()
    await first.close()
    t.match(await (await open(t)).artifacts('Client').find('client-1'), { client_id: 'client-1' })
  })

  t.test('sweep() and probe() return a result', async (t) => {
    const store = await open(t)
    await store.probe()
    t.type(await store.sweep(1_000), 'number')
  })

  t.test('accounts: an insert with an existing username or id changes nothing', async (t) => {
    const { accounts } = await open(t)
    t.equal(await accounts.insert(anAccount({ id: 'id-1', username: 'carol' })), true)
    t.equal(await accounts.insert(anAccount({ id: 'id-2', username: 'carol', name: 'Thief' })), false)
    t.equal(await accounts.insert(anAccount({ id: 'id-1', username: 'dave' })), false)
    t.strictSame(await accounts.findByUsername('carol'), anAccount({ id: 'id-1', username: 'carol' }))
    t.equal(await accounts.findByUsername('dave'), undefined)
    t.equal(await accounts.findById('id-2'), undefined)
  })

  t.test('accounts: one of 20 concurrent inserts of a username succeeds', async (t) => {
    const [one, two] = [await open(t), await open(t)]
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? one : two).accounts.insert(anAccount({ id: `race-${i}`, username: 'raced' })),
      ),
    )
    t.equal(results.filter(Boolean).length, 1)
  })

  t.test('accounts: removal also removes sessions, grants and tokens', async (t) => {
    const store = await open(t)
    await store.accounts.insert(anAccount({ id: 'gone', username: 'gone', email: undefined }))
    t.equal((await store.accounts.findById('gone'))?.email, undefined)
    await store.artifacts('Session').upsert('s', { jti: 's', uid: 's', accountId: 'gone' }, 60)
    await store.artifacts('RefreshToken').upsert('r', { jti: 'r', accountId: 'gone', grantId: 'g' }, 60)
    await store.artifacts('RefreshToken').upsert('kept', { jti: 'kept', accountId: 'stays' }, 60)
    const from = await revokeOne(store, 'before')
    await store.accounts.remove('gone')
    await store.accounts.remove('gone')
    const logged = await store.revocations.readAfter(from, 10)
    t.equal(logged?.length, 1)
    t.match(logged, [
      { revocation: { grant: undefined, subject: revocationName(TOKEN_SETTINGS.issuer, 'gone') } },
    ])
    const revokedUpTo = logged?.[0]?.revocation.atSeconds ?? 0
    t.ok(revokedUpTo > 100_000_000_000, 'also tokens of a server whose clock is ahead')
    t.equal(await store.accounts.findById('gone'), undefined)
    t.equal(await store.accounts.findByUsername('gone'), undefined)
    t.equal(await store.artifacts('Session').find('s'), undefined)
    t.equal(await store.artifacts('RefreshToken').find('r'), undefined)
    t.ok(await store.artifacts('RefreshToken').find('kept'))
    t.equal(await store.accounts.insert(anAccount({ id: 'gone-2', username: 'gone' })), true)
  })

  t.test(
    'accounts: listByOrigin() returns the accounts of an origin, and setPasswordHash() replaces a hash',
    async (t) => {
      const { accounts } = await open(t)
      await accounts.insert(anAccount({ id: 'dev-2', username: 'zoe', origin: 'development' }))
      await accounts.insert(anAccount({ id: 'dev-1', username: 'amy', origin: 'development' }))
      await accounts.setPasswordHash('dev-1', 'lost hash', 'another hash')
      t.not((await accounts.findById('dev-1'))?.passwordHash, 'lost hash')
      await accounts.setPasswordHash('dev-1', 'newer hash', (await accounts.findById('dev-1'))?.passwordHash)
      t.equal((await accounts.findById('dev-1'))?.passwordHash, 'newer hash')
      await accounts.setPasswordHash('dev-1', 'new hash')
      await accounts.setPasswordHash('nobody', 'new hash')
      const listed = await accounts.listByOrigin('development')
      t.strictSame(
        listed.map(({ username, passwordHash }) => [username, passwordHash]),
        [
          ['amy', 'new hash'],
          ['zoe', 'phc'],
        ],
      )
      t.equal(await accounts.findById('nobody'), undefined)
    },
  )

  t.test(
    'accounts: an identity belongs to one account, and its removal makes the identity free',
    async (t) => {
      const { accounts } = await open(t)
      const eve = aProviderAccount({ id: 'p-1', username: 'company:p-1' })
      t.equal(await accounts.insert(eve), true)
      t.strictSame(await accounts.findByIdentity('https://login.test', 'eve'), eve)
      t.equal(await accounts.insert(aProviderAccount({ id: 'p-2', username: 'company:p-2' })), false)
      t.equal(await accounts.findById('p-2'), undefined)
      t.equal(await accounts.findByIdentity('https://login.test', 'Eve'), undefined)
      t.equal(await accounts.findByIdentity('https://login.test/', 'eve'), undefined)
      t.equal(await accounts.findByIdentity('https://login.test\neve', ''), undefined)
      t.equal(await accounts.findByIdentity('https://login.test', 'eve\0'), undefined)
      const identity = { issuer: 'https://other.test', subject: 'eve', provider: 'other' }
      t.equal(await accounts.insert(aProviderAccount({ id: 'p-3', username: 'other:p-3', identity })), true)
      await accounts.remove('p-1')
      t.equal(await accounts.findByIdentity('https://login.test', 'eve'), undefined)
      t.equal(await accounts.insert(aProviderAccount({ id: 'p-4', username: 'company:p-4' })), true)
    },
  )

  t.test('accounts: one of 20 simultaneous first sign-ins of a person inserts the account', async (t) => {
    const [one, two] = [await open(t), await open(t)]
    const identity = { issuer: 'https://login.test', subject: 'racing', provider: 'company' }
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? one : two).accounts.insert(
          aProviderAccount({ id: `first-${i}`, username: `company:first-${i}`, identity }),
        ),
      ),
    )
    t.equal(results.filter(Boolean).length, 1)
  })

  t.test('accounts: update() replaces the data of the provider only', async (t) => {
    const { accounts } = await open(t)
    const identity = { issuer: 'https://login.test', subject: 'frank', provider: 'company' }
    const frank = aProviderAccount({ id: 'u-1', username: 'company:u-1', identity })
    await accounts.insert({ ...frank, emailVerified: true })
    t.strictSame(await accounts.findById('u-1'), { ...frank, emailVerified: true })
    const changed = { id: 'u-1', name: 'Frank', email: undefined, groups: ['staff'], roles: [], identity }
    await accounts.update({ ...changed, ...{ username: 'ignored' } })
    t.strictSame(await accounts.findById('u-1'), { ...frank, ...changed })
    await accounts.update({ id: 'nobody-updated', name: 'Nobody', email: undefined })
    t.equal(await accounts.findById('nobody-updated'), undefined)
  })

  t.test('accounts: list() returns all accounts in pages', async (t) => {
    const { accounts } = await open(t)
    for (const id of ['list-b', 'list-a', 'list-C']) await accounts.insert(anAccount({ id, username: id }))
    await accounts.insert(anAccount({ id: 'list-D', username: 'list-D', origin: 'development' }))
    const ids: string[] = []
    let page: readonly StoredAccount[] = []
    do {
      page = await accounts.list({ after: ids.at(-1), limit: 2 })
      t.ok(page.length <= 2)
      ids.push(...page.map(({ id }) => id))
    } while (page.length > 0)
    const listed = ids.filter((id) => id.startsWith('list-'))
    t.strictSame(listed, ['list-C', 'list-D', 'list-a', 'list-b'])
  })

  t.test('accounts: setDisabled() ends sessions, grants and tokens, and keeps the account', async (t) => {
    const store = await open(t)
    const account = anAccount({ id: 'off', username: 'off' })
    await store.accounts.insert(account)
    await store.artifacts('Session').upsert('off-s', { jti: 'off-s', uid: 's', accountId: 'off' }, 60)
    await store.artifacts('Grant').upsert('off-g', { jti: 'off-g', accountId: 'off' }, 60)
    await store.artifacts('RefreshToken').upsert('on', { jti: 'on', accountId: 'stays' }, 60)
    const from = await revokeOne(store, 'before disabling')
    await store.accounts.setDisabled('off', 1_234)
    await store.accounts.setDisabled('unknown', 1_234)
    const logged = await store.revocations.readAfter(from, 10)
    t.equal(logged?.length, 1)
    const { atSeconds = 0, subject } = logged?.[0]?.revocation ?? {}
    t.equal(subject, revocationName(TOKEN_SETTINGS.issuer, 'off'))
    t.ok(atSeconds < 100_000_000_000, 'an enabled account gets valid tokens again')
    t.equal(await store.artifacts('Session').find('off-s'), undefined)
    t.equal(await store.artifacts('Grant').find('off-g'), undefined)
    t.ok(await store.artifacts('RefreshToken').find('on'))
    t.strictSame(await store.accounts.findById('off'), { ...account, disabledAtSeconds: 1_234 })
    t.equal(await store.accounts.findById('unknown'), undefined)
    await store.accounts.setDisabled('off', undefined)
    t.strictSame(await store.accounts.findByUsername('off'), account)
  })

  t.test('accounts: setSecondFactor() replaces only the expected second factor', async (t) => {
    const [one, two] = [(await open(t)).accounts, (await open(t)).accounts]
    const account = anAccount({ id: 'factor', username: 'factor' })
    await one.insert(account)
    t.equal(await one.setSecondFactor('factor', 'a', 'b'), false)
    t.equal(await one.setSecondFactor('nobody', undefined, 'a'), false)
    const races = Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? one : two).setSecondFactor('factor', undefined, `{"race":${i}}`),
    )
    t.equal((await Promise.all(races)).filter(Boolean).length, 1)
    const { secondFactor } = (await two.findById('factor')) ?? {}
    t.match(secondFactor, /^\{"race":\d+\}$/)
    t.equal(await two.setSecondFactor('factor', undefined, 'x'), false)
    t.equal(await two.setSecondFactor('factor', `${secondFactor} `, 'x'), false)
    t.equal(await two.setSecondFactor('factor', secondFactor, 'x'), true)
    await one.setPasswordHash('factor', 'new')
    await one.setDisabled('factor', 1_234)
    await one.setDisabled('factor', undefined)
    await one.update(account)
    t.strictSame(await one.findById('factor'), { ...account, passwordHash: 'new', secondFactor: 'x' })
    t.equal(await one.setSecondFactor('factor', 'x', undefined), true)
    t.strictSame(await one.findByUsername('factor'), { ...account, passwordHash: 'new' })
    t.equal(await one.insert(anAccount({ id: 'with', username: 'with', secondFactor: 'y' })), true)
    t.equal((await two.findById('with'))?.secondFactor, 'y')
    t.equal(await one.findById('nobody'), undefined)
  })

  // This test must be the last test, because the longer lifetime applies to all later revocations.
  t.test('a revocation applies to tokens with an earlier, longer lifetime, until they expire', async (t) => {
    const clock = { now: 1_000 }
    const openFor = async (accessTokenSeconds: number): Promise<Store> => {
      const store = await openStore(
        { dataDir: '/nowhere', ...TOKEN_CONFIG, ...config, lifetimes: { accessTokenSeconds } },
        { nowSeconds: () => clock.now },
      )
      t.teardown(() => store.close())
      return store
    }
    const lifetimeOf = async (store: Store, grantId: string): Promise<number> => {
      const id = await revokeOne(store, `before ${grantId}`)
      await revokeOne(store, grantId)
      const [logged] = (await store.revocations.readAfter(id, 10)) ?? []
      const { atSeconds = 0, expiresAtSeconds = 0 } = logged?.revocation ?? {}
      return expiresAtSeconds - atSeconds
    }
    const before = await openFor(7_200)
    const [after, other] = [await openFor(600), await openFor(600)]
    t.equal(await lifetimeOf(after, 'shortened'), 7_200)
    await passTime(clock, 6_000)
    await before.sweep(clock.now)
    await passTime(clock, 6_000)
    await other.sweep(clock.now)
    t.equal(await lifetimeOf(other, 'renewed'), 7_200, 'a server with the longer lifetime still runs')
    await passTime(clock, 3_600)
    await after.sweep(clock.now)
    t.equal(await lifetimeOf(after, 'expired'), 600, 'all longer tokens have expired')
    await openFor(3_600)
    await after.sweep(clock.now)
    t.equal(await lifetimeOf(after, 'raised'), 3_600, 'a running server uses a new, longer lifetime')
  })
}

t.test('SQLite: find(), consume() and claim() expire to the second', async (t) => {
  const clock = { now: 1_000 }
  const store = openSqliteStore(join(t.testdir(), 'clock.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => clock.now,
  })
  t.teardown(() => store.close())
  const tokens = store.artifacts('AccessToken')
  await tokens.upsert('short', { jti: 'short' }, 60)
  await tokens.claim('claimed', 60)
  clock.now = 1_059
  t.strictSame(await tokens.find('short'), { jti: 'short' })
  t.equal(await tokens.claim('claimed', 60), false)
  clock.now = 1_060
  t.equal(await tokens.find('short'), undefined)
  t.equal(await tokens.consume('short'), false)
  t.equal(await tokens.claim('claimed', 60), true)
})

t.test('Redis: expiry and revocation follow its clock, not the clock of a server', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  t.teardown(() => server.stop())
  const now = Math.floor(Date.now() / 1_000)
  const openAt = async (nowSeconds: number): Promise<Store> => {
    const store = await openStore(
      { ...TOKEN_CONFIG, store: { type: 'redis' }, dataDir: '/nowhere', redis: { url: server.url } },
      { nowSeconds: () => nowSeconds },
    )
    t.teardown(() => store.close())
    return store
  }
  const [right, ahead] = [await openAt(now), await openAt(now + 7_200)]
  const grant = { grantId: 'g', accountId: 'a' }
  await right.artifacts('AccessToken').upsert('token', { jti: 'token', ...grant }, 900)
  t.ok(await ahead.artifacts('AccessToken').find('token'), 'it has not expired')
  await ahead.artifacts('RefreshToken').upsert('successor', { jti: 'successor', ...grant }, 900)
  const from = await revokeOne(right, 'before')
  await ahead.artifacts('Grant').revokeByGrantId('g')
  t.equal(
    await right.artifacts('AccessToken').find('token'),
    undefined,
    'the revocation of the grant removed the token',
  )
  t.equal(await right.artifacts('RefreshToken').find('successor'), undefined)
  const [logged] = (await right.revocations.readAfter(from, 10)) ?? []
  const difference = Math.abs((logged?.revocation.atSeconds ?? 0) - now)
  t.ok(difference < 3_600, `logged ${difference} s from the right time`)
})

t.test(
  'Redis: the revocation of a removed account also applies to a token of a server with a clock ahead',
  async (t) => {
    const server = await startRedis({ folder: t.testdir() })
    t.teardown(() => server.stop())
    const store = await openStore(
      { ...TOKEN_CONFIG, store: { type: 'redis' }, dataDir: '/nowhere', redis: { url: server.url } },
      { nowSeconds: () => Math.floor(Date.now() / 1_000) },
    )
    const redis = new Redis(server.url)
    t.teardown(async () => {
      redis.disconnect()
      await store.close()
    })
    await store.accounts.insert(anAccount({ id: 'gone', username: 'gone' }))
    await store.accounts.remove('gone')
    const caller = aCaller({
      issuer: TOKEN_SETTINGS.issuer,
      subject: 'gone',
      issuedAtSeconds: Math.floor(Date.now() / 1_000) + 7_200,
    })
    t.equal(await isMarkedRevoked(redis, caller), true)
    t.equal(await isMarkedRevoked(redis, { ...caller, subject: 'stays' }), false)
  },
)

t.test('SQLite: 4 processes on one file consume each of 50 codes once in total', async (t) => {
  const file = join(t.testdir(), 'shared.sqlite')
  const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  t.teardown(() => store.close())
  const ids = Array.from({ length: 50 }, (_, i) => `code-${i}`)
  for (const id of ids) await store.artifacts('AuthorizationCode').upsert(id, { jti: id }, 60)
  const script = join(import.meta.dirname, '../../fixtures/consume-from-process.ts')
  const children = ids.slice(0, 4).map(() => fork(script, [file]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map((child) => once(child, 'message'))
  for (const child of children) child.send(ids)
  const won = (await Promise.all(results)).flatMap(([list]) => list as string[])
  t.strictSame(won.sort(), [...ids].sort())
})

t.test('SQLite: sweep() deletes and counts expired artifacts', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'swept.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
  t.teardown(() => store.close())
  for (const id of ['a', 'b']) await store.artifacts('AccessToken').upsert(id, { jti: id }, 60)
  await store.artifacts('AccessToken').upsert('c', { jti: 'c' }, 61)
  t.equal(await store.sweep(1_060), 2)
  t.equal(await store.sweep(1_060), 0)
  t.ok(await store.artifacts('AccessToken').find('c'))
})

t.test('SQLite: sweep() deletes revocations older than any token, and records the position', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'swept.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
  t.teardown(() => store.close())
  const before = await store.revocations.lastId()
  await revokeOne(store, 'a')
  const last = await revokeOne(store, 'b')
  await store.sweep(1_000 + TOKEN_SETTINGS.accessTokenSeconds)
  t.equal((await store.revocations.readAfter(before, 10))?.length, 2)
  await store.sweep(1_000 + TOKEN_SETTINGS.accessTokenSeconds + 301)
  t.equal(await store.revocations.readAfter(before, 10), undefined)
  t.same(await store.revocations.readAfter(last, 10), [])
  const next = await revokeOne(store, 'c')
  t.not(next, last, 'a number is never reused')
})

t.test('SQLite: reports an unreadable entry, a truncated log, and a failing log', async (t) => {
  const file = join(t.testdir(), 'broken.sqlite')
  const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  const told: string[] = []
  const from = await revokeOne(store, 'a')
  await store.revocations.follow({
    revoked: (logged) => void told.push(...logged.map(() => 'revoked')),
    gap: () => void told.push('gap'),
    lost: () => void told.push('lost'),
    restored: () => void told.push('restored'),
  })
  const database = new DatabaseSync(file)
  database.exec("insert into revocations (revoked_at, payload) values (1000, 'junk')")
  await until('told', async () => told.length === 1)
  t.equal(await store.revocations.readAfter(from, 10), undefined)
  await revokeOne(store, 'b')
  t.same(told, ['gap', 'revoked'])
  database.exec('delete from revocations where id > 1; update sqlite_sequence set seq = 1')
  await until('told', async () => told.length === 3)
  database.exec(
    "alter table revocations rename to away; update sqlite_sequence set name = 'revocations', seq = 9",
  )
  await until('lost', async () => told.length === 4)
  database.exec('alter table away rename to revocations')
  database.close()
  await until('restored', async () => told.length === 6)
  t.same(told.slice(2), ['gap', 'lost', 'gap', 'restored'])
  await store.close()
})

t.test('SQLite: a reader cannot resume if its position is newer than a restored backup', async (t) => {
  const [file, backup] = ['lived.sqlite', 'backup.sqlite'].map((name) => join(t.testdir(), name)) as [
    string,
    string,
  ]
  const openFile = (from: string) => {
    const store = openSqliteStore(from, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
    t.teardown(() => store.close())
    return store
  }
  const store = openFile(file)
  const common = await revokeOne(store, 'in both')
  const copy = new DatabaseSync(file)
  copy.prepare('vacuum into ?').run(backup)
  copy.close()
  const heard = await revokeOne(store, 'lost with the restore')
  await store.close()
  const restored = openFile(backup)
  t.equal(await restored.revocations.readAfter(heard, 10), undefined)
  await revokeOne(restored, 'sent to other readers')
  await revokeOne(restored, 'also sent to other readers')
  t.equal(await restored.revocations.readAfter(heard, 10), undefined, 'another revocation uses its number')
  t.equal((await restored.revocations.readAfter(common, 10))?.length, 2)
})

t.test('Redis: keys of artifacts expire, and the set of a grant expires after its members', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  t.teardown(() => server.stop())
  const store = await openStore(
    { ...TOKEN_CONFIG, store: { type: 'redis' }, dataDir: '/nowhere', redis: { url: server.url } },
    { nowSeconds: () => 1_000 },
  )
  const redis = new Redis(server.url)
  t.teardown(async () => {
    await store.close()
    redis.disconnect()
  })
  await store.artifacts('RefreshToken').upsert('r', { jti: 'r', grantId: 'g' }, 5_000)
  await store.artifacts('AccessToken').upsert('a', { jti: 'a', grantId: 'g' }, 50)
  const [set] = await redis.keys('*of-grant*')
  t.ok((await redis.ttl(set ?? '')) > 4_000)
  for (const [model, seconds] of [
    ['RefreshToken', 5_000],
    ['AccessToken', 50],
  ] as const) {
    const [member = ''] = await redis.keys(`*:artifact:${model}:*`)
    const expiresAt = Number(await redis.zscore(set ?? '', member))
    const [now] = await redis.time()
    t.ok(expiresAt > Number(now) && expiresAt <= Number(now) + seconds, `${member} expires at ${expiresAt}`)
  }
  for (const key of await redis.keys('*:artifact:*')) t.ok((await redis.ttl(key)) > 0, key)
  await store.artifacts('Grant').upsert('g', { jti: 'g' }, undefined)
  t.equal(await redis.ttl(set ?? ''), -1, 'a member without expiry keeps the set')
  await store.artifacts('AccessToken').upsert('a2', { jti: 'a2', grantId: 'g' }, 50)
  t.equal(await redis.ttl(set ?? ''), -1)
})

/** Follows the revocations of a store. `next()` returns one revocation at a time. */
async function heard(t: Test, store: Store) {
  const told: LoggedRevocation[] = []
  const stop = await store.revocations.follow({
    revoked: (logged) => void told.push(...logged),
    gap: () => undefined,
    lost: () => undefined,
  })
  t.teardown(stop)
  return { next: () => until('told', async () => told.shift()) }
}

/** Returns all pages of `list()`, by the hash of the id. */
async function listAll(store: Store, model: string): Promise<ReadonlyMap<string, ListedArtifact>> {
  const found = new Map<string, ListedArtifact>()
  let cursor: string | undefined
  do {
    const { listed, next } = await store.artifacts(model).list(cursor)
    for (const artifact of listed) found.set(artifact.idHash, artifact)
    cursor = next
  } while (cursor !== undefined)
  return found
}

/**
 * Revokes a new grant.
 * @returns the ID of the revocation.
 */
async function revokeOne(store: Store, grantId: string): Promise<string> {
  await store.artifacts('AccessToken').upsert(`of ${grantId}`, { jti: `of ${grantId}`, grantId }, 60)
  await store.artifacts('Grant').revokeByGrantId(grantId)
  return store.revocations.lastId()
}

function aProviderAccount(fields: Partial<StoredAccount>): StoredAccount {
  return {
    ...anAccount(fields),
    passwordHash: undefined,
    origin: 'provider',
    identity: { issuer: 'https://login.test', subject: 'eve', provider: 'company' },
    ...fields,
  }
}

function anAccount(fields: Partial<StoredAccount>): StoredAccount {
  return {
    id: 'id',
    username: 'username',
    name: 'Name',
    email: 'name@example.com',
    passwordHash: 'phc',
    origin: 'operator',
    createdAtSeconds: 1_000,
    ...fields,
  }
}
