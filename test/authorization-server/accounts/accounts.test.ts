import { createHook } from 'node:async_hooks'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAccounts, normalizeUsername } from '../../../authorization-server/accounts/accounts.ts'
import { addAccount } from '../../../authorization-server/accounts/add-account.ts'
import { hashPassword, verifyPassword } from '../../../authorization-server/accounts/password-hash.ts'
import { syncDevelopmentAccounts } from '../../../authorization-server/accounts/sync-development-accounts.ts'
import { openStore } from '../../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { TOKEN_CONFIG, TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const nowSeconds = () => 1_000
const PASSWORD = 'correct horse battery'
const ARGON2_JOB = 'ARGON2REQUEST' // name in node:async_hooks of a running call of crypto.argon2
const CHEAP = { memoryKib: 64, passes: 1, lanes: 1 }

t.test('verifyPassword() rejects malformed, unsupported and hostile PHC strings', async (t) => {
  const good = await hashPassword(PASSWORD, Buffer.alloc(16, 1), CHEAP)
  t.match(good, /^\$argon2id\$v=19\$m=64,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  const bad = [
    '',
    PASSWORD,
    good.replace('argon2id', 'argon2i'),
    good.replace('v=19', 'v=16'),
    good.replace('m=64', 'm=9999999'),
    good.replace('m=64', 'm=1'),
    good.replace('m=64', 'm=7'),
    good.replace('m=64', 'm=1048577'),
    good.replace('m=64,t=1,p=1', 'm=64,t=1,p=9'),
    good.replace('p=1', 'p=0'),
    good.replace('p=1', 'p=1000'),
    good.replace('t=1', 't=1000'),
    ` ${good}`,
    `${good}\n`,
    good.slice(0, -22),
    good.replace(/\$[^$]{22}\$/, '$AAAAAAAAAAAAAAAAAAAAA$'),
    good.replace('t=1', 't=0'),
    good.slice(0, -30),
    `${good}A`,
  ]
  for (const phc of bad) t.equal(await verifyPassword(PASSWORD, phc), 'mismatch', phc)
  t.equal(await verifyPassword(`${PASSWORD} `, good), 'mismatch')
  t.equal(await verifyPassword('', good), 'mismatch')
})

t.test('verifyPassword() matches a password in another Unicode normalization form', async (t) => {
  const outdated = await hashPassword('caf\u00e9 caf\u00e9', Buffer.alloc(16, 1), CHEAP)
  t.equal(await verifyPassword('cafe\u0301 caf\u00e9', outdated), 'outdated')
  for (const cost of [
    { memoryKib: 19_456, passes: 1, lanes: 1 },
    { memoryKib: 19_456, passes: 2, lanes: 2 },
    { memoryKib: 19_455, passes: 2, lanes: 1 },
  ])
    t.equal(
      await verifyPassword(PASSWORD, await hashPassword(PASSWORD, Buffer.alloc(16, 1), cost)),
      'outdated',
    )
  const wide = await hashPassword(PASSWORD, Buffer.alloc(16, 1), { memoryKib: 64, passes: 1, lanes: 8 })
  t.equal(await verifyPassword(PASSWORD, wide), 'outdated', '8 KiB for each lane is the minimum')
  const today = await hashPassword(PASSWORD, Buffer.alloc(16, 2))
  t.match(today, '$argon2id$v=19$m=19456,t=2,p=1$')
  t.equal(await verifyPassword(PASSWORD, today), 'match')
})

t.test('hashPassword() agrees with the reference implementation', async (t) => {
  // Expected hash from the reference implementation: echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1 -l 32
  t.equal(
    await hashPassword('password', Buffer.from('somesalt'), { memoryKib: 65_536, passes: 2, lanes: 1 }),
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  )
})

t.test('normalizeUsername() returns one spelling, or undefined for an invalid name', async (t) => {
  const same = ['alice', 'ALICE', ' Alice ', '\uff21lice'] // the last name begins with a full-width A
  for (const typed of same) t.equal(normalizeUsername(typed), 'alice', JSON.stringify(typed))
  t.equal(normalizeUsername('Zo\u00eb'), normalizeUsername('zoe\u0308'))
  t.equal(normalizeUsername('Ana.Lima+test@example.com'), 'ana.lima+test@example.com')
  t.equal(normalizeUsername('x'.repeat(64)), 'x'.repeat(64))
  t.equal(normalizeUsername(`${' '.repeat(192)}${'x'.repeat(64)}`), 'x'.repeat(64), '256 characters')
  t.equal(normalizeUsername(`${' '.repeat(193)}${'x'.repeat(64)}`), undefined, '257 characters')
  t.equal(normalizeUsername('\u0130'), 'i\u0307', 'composed after lower-casing')
  t.equal(normalizeUsername('1_a.b@c+d-e'), '1_a.b@c+d-e')
  t.equal(normalizeUsername('\u0905\u093e'), '\u0905\u093e', 'a letter with a mark')
  t.equal(normalizeUsername('\u0301x'), '\u0301x', 'a mark at the start')
  const none = [
    ...['', ' ', 'a b', 'a\u0000', '<b>', '\u202eevil', '-a', '.', '_a', '@a', '+a', 'a/b', 'a\nb'],
    ...['x'.repeat(65), 'x'.repeat(1e6)],
  ]
  for (const typed of none) t.equal(normalizeUsername(typed), undefined, JSON.stringify(typed.slice(0, 20)))
})

t.test('add() rejects invalid accounts with the reason', async (t) => {
  const { accounts } = await open(t)
  const short = 'A password must have at least 12 characters.'
  const long = 'A password must have at most 256 characters.'
  const cases = [
    [
      'a b',
      PASSWORD,
      'username_invalid',
      'A username must have 1 to 64 characters: letters, digits and . _ @ + -. The first character must be a letter or a digit.',
    ],
    ['carol', 'x'.repeat(11), 'password_too_short', short],
    ['carol', '\u{1f600}'.repeat(11), 'password_too_short', short],
    ['carol', 'x'.repeat(257), 'password_too_long', long],
    ['a b', 'short', 'username_invalid', /^A username/],
  ] as const
  for (const [username, password, rejected, message] of cases)
    t.match(await accounts.add({ username, password }), { rejected, message })
  t.strictSame(await accounts.add({ username: 'a b', password: PASSWORD }), {
    rejected: 'username_invalid',
    message: cases[0][3],
  })
  t.match(await accounts.add({ username: 'carol', password: PASSWORD }), { added: { username: 'carol' } })
  t.strictSame(await accounts.add({ username: ' CAROL', password: PASSWORD }), {
    rejected: 'username_taken',
    message: 'An account with this username already exists.',
  })
})

t.test('add() accepts passwords of 12 and of 256 characters, and stores exactly the account', async (t) => {
  const { accounts, store } = await open(t)
  for (const [username, password] of [
    ['twelve', 'x'.repeat(12)],
    ['longest', 'x'.repeat(256)],
  ] as const) {
    t.match(await accounts.add({ username, password }), { added: { username } })
    t.match(await accounts.verify(username, password), { username })
    t.equal(await accounts.verify(username, `${password}x`), undefined)
  }
  const result = await accounts.add({
    username: 'Dora',
    password: PASSWORD,
    name: 'Dora D.',
    email: 'd@d.test',
  })
  const added = 'added' in result ? result.added : undefined
  t.match(added?.id, /^[0-9a-f]{32}$/, 'the command line does not read the id as an option')
  t.strictSame(added, { id: added?.id, username: 'dora', name: 'Dora D.', email: 'd@d.test' })
  const { passwordHash, ...stored } = (await store.accounts.findByUsername('dora')) ?? {}
  t.strictSame(stored, { ...added, origin: 'operator', createdAtSeconds: 1_000 })
  t.match(passwordHash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  t.equal(await accounts.findId(' DORA'), added?.id)
  t.equal(await accounts.findId('nobody'), undefined)
  t.equal(await accounts.findId('not a name'), undefined)
})

t.test('a password longer than the limit never matches', async (t) => {
  const { accounts, store } = await open(t)
  await store.accounts.insert({
    id: 'long',
    username: 'long',
    name: 'Long',
    email: undefined,
    passwordHash: await hashPassword('x'.repeat(257), Buffer.alloc(16, 1), CHEAP),
    origin: 'operator',
    createdAtSeconds: 1,
  })
  t.equal(await accounts.verify('long', 'x'.repeat(257)), undefined)
})

t.test('verify() returns the account only for its correct password', async (t) => {
  const { accounts, store } = await open(t)
  const result = await accounts.add({
    username: 'carol',
    password: PASSWORD,
    name: 'Carol',
    email: 'c@example.com',
  })
  t.ok('added' in result)
  const added = 'added' in result ? result.added : undefined
  for (const password of ['', 'wrong', PASSWORD.toUpperCase(), 'x'.repeat(1e6)])
    t.equal(await accounts.verify('carol', password), undefined)
  t.equal(await accounts.verify('nobody', PASSWORD), undefined)
  t.equal(await accounts.verify('<not a name>', PASSWORD), undefined)
  t.strictSame(await accounts.verify(' Carol', PASSWORD), { ...added, endMark: '' })
  t.strictSame(await accounts.find(added?.id ?? ''), added)
  t.equal(await accounts.find('unknown'), undefined)
  t.notMatch(JSON.stringify(await store.accounts.findByUsername('carol')), PASSWORD)
})

t.test('add() gives each account its own salt', async (t) => {
  const { accounts, store } = await open(t)
  const hashOf = async (username: string) => {
    await accounts.add({ username, password: PASSWORD })
    return (await store.accounts.findByUsername(username))?.passwordHash
  }
  const hashes = [await hashOf('carol'), await hashOf('dora')]
  t.match(hashes, [/^\$argon2id\$/, /^\$argon2id\$/])
  t.not(hashes[0], hashes[1], 'equal passwords have different hashes')
})

t.test('verify() hashes once for known and unknown users, so that the time does not differ', async (t) => {
  let hashes = 0
  const hook = createHook({ init: (_id, type) => void (type === ARGON2_JOB && hashes++) }).enable()
  t.teardown(() => hook.disable())
  const { accounts } = await open(t)
  t.equal(hashes, 0, 'a start hashes nothing')
  await accounts.add({ username: 'carol', password: PASSWORD })
  for (const username of ['carol', 'nobody', '<impossible>', 'x'.repeat(1_000)]) {
    const before = hashes
    t.equal(await accounts.verify(username, 'wrong password'), undefined)
    t.equal(hashes - before, 1, username)
  }
})

t.test('verify() replaces a hash that has other parameters', async (t) => {
  const { accounts, store } = await open(t)
  await store.accounts.insert({
    id: 'old',
    username: 'old',
    name: 'Old',
    email: undefined,
    passwordHash: await hashPassword(PASSWORD, Buffer.alloc(16, 1), CHEAP),
    origin: 'operator',
    createdAtSeconds: 1,
  })
  t.match(await accounts.verify('old', PASSWORD), { id: 'old' })
  t.match((await store.accounts.findById('old'))?.passwordHash, '$argon2id$v=19$m=19456,t=2,p=1$')
  t.match(await accounts.verify('old', PASSWORD), { id: 'old' })
})

t.test(
  'development accounts do not exist outside development mode, also after another process created them',
  async (t) => {
    const { store } = await open(t)
    await syncDevelopmentAccounts({ store: store.accounts, development: true, nowSeconds: 1 })
    const stored = await store.accounts.findByUsername('alice')
    t.match(stored, { origin: 'development', createdAtSeconds: 1 })
    t.match(stored?.passwordHash, '$argon2id$v=19$m=8,t=1,p=1$')
    const production = createAccounts({ store: store.accounts, development: false, nowSeconds })
    t.equal(await production.verify('alice', 'alice'), undefined)
    t.equal(await production.find(stored?.id ?? ''), undefined)
    t.equal(await production.findId('alice'), undefined)
    const development = createAccounts({ store: store.accounts, development: true, nowSeconds })
    t.match(await development.find(stored?.id ?? ''), { username: 'alice' })
    t.match(await development.verify('bob', 'bob'), {
      username: 'bob',
      name: 'Bob Example',
      email: 'bob@example.com',
    })
    t.match(await development.verify('alice', 'alice'), { username: 'alice' })
    t.equal(await development.verify('alice', 'bob'), undefined)
    t.strictSame(await store.accounts.findByUsername('alice'), stored, 'its hash stays')
  },
)

t.test('production mode removes alice, bob and their artifacts from a development data folder', async (t) => {
  const { store } = await open(t)
  await syncDevelopmentAccounts({ store: store.accounts, development: true, nowSeconds: 1 })
  const development = createAccounts({ store: store.accounts, development: true, nowSeconds })
  const carol = await development.add({ username: 'carol', password: PASSWORD })
  const alice = await development.verify('alice', 'alice')
  await store.artifacts('Session').upsert('s', { jti: 's', uid: 's', accountId: alice?.id }, 60)
  await store.artifacts('RefreshToken').upsert('r', { jti: 'r', accountId: alice?.id }, 60)
  const settled = await syncDevelopmentAccounts({
    store: store.accounts,
    development: false,
    nowSeconds: 2,
  })
  t.match(settled, { added: [], removed: [{ id: alice?.id, username: 'alice' }, { username: 'bob' }] })
  t.equal(settled.removed.length, 2)
  t.equal(await store.accounts.findByUsername('alice'), undefined)
  t.equal(await store.artifacts('Session').find('s'), undefined)
  t.equal(await store.artifacts('RefreshToken').find('r'), undefined)
  t.ok('added' in carol && (await store.accounts.findById(carol.added.id)), 'other accounts stay')
})

t.test(
  'syncDevelopmentAccounts() keeps its accounts and the operator’s account between starts',
  async (t) => {
    const { accounts, store } = await open(t, true)
    await accounts.add({ username: 'bob', password: PASSWORD })
    const settle = () => syncDevelopmentAccounts({ store: store.accounts, development: true, nowSeconds: 1 })
    const settled = await settle()
    t.match(settled, { added: [{ id: /./, username: 'alice' }], removed: [] })
    t.equal(settled.added.length, 1)
    const first = await accounts.verify('alice', 'alice')
    t.match(first, { username: 'alice', name: 'Alice Example', email: 'alice@example.com' })
    t.strictSame(await settle(), { added: [], removed: [] })
    t.strictSame(await accounts.verify('alice', 'alice'), first)
    t.equal(await accounts.verify('bob', 'bob'), undefined)
    t.match(await accounts.verify('bob', PASSWORD), { username: 'bob' })
  },
)

t.test('addAccount() opens the configured store, adds and closes it', async (t) => {
  const config = {
    ...TOKEN_CONFIG,
    store: { type: 'sqlite' },
    dataDir: t.testdir(),
    redis: undefined,
  } as const
  const account = { username: 'dora', password: PASSWORD }
  t.match(await addAccount({ config, account, nowSeconds }), { added: { username: 'dora', name: 'dora' } })
  t.match(await addAccount({ config, account, nowSeconds }), { rejected: 'username_taken' })
  const store = await openStore(config, { nowSeconds })
  t.teardown(() => store.close())
  const accounts = createAccounts({ store: store.accounts, development: false, nowSeconds })
  t.match(await accounts.verify('dora', PASSWORD), { username: 'dora' })
  t.match(await store.accounts.findByUsername('dora'), { origin: 'operator', createdAtSeconds: 1_000 })
})

t.test('addAccount() closes the store, also after a rejection or an error', async (t) => {
  const config = {
    ...TOKEN_CONFIG,
    store: { type: 'sqlite' },
    dataDir: t.testdir(),
    redis: undefined,
  } as const
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`).startsWith(config.dataDir)
      } catch {
        return false // the file was closed during the loop
      }
    })
  await addAccount({ config, account: { username: 'dora', password: PASSWORD }, nowSeconds })
  t.notOk(isOpen())
  await addAccount({ config, account: { username: 'dora', password: 'short' }, nowSeconds })
  t.notOk(isOpen())
  const broken = () => {
    throw new Error('no clock')
  }
  const account = { username: 'emma', password: PASSWORD }
  await t.rejects(addAccount({ config, account, nowSeconds: broken }), { message: 'no clock' })
  t.notOk(isOpen())
})

async function open(t: Test, development = false) {
  const store: Store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  return { store, accounts: createAccounts({ store: store.accounts, development, nowSeconds }) }
}

const PERSON = {
  identity: { issuer: 'https://login.test', subject: 'one', provider: 'company' },
  name: 'Person One',
  email: 'alice@example.com',
  emailVerified: true,
  groups: ['staff'],
  roles: undefined,
}

t.test('signInFromProvider() adds one account for an identity, also for concurrent sign-ins', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  const accounts = createAccounts({ store: store.accounts, development: false, nowSeconds })
  const results = await Promise.all(Array.from({ length: 10 }, () => accounts.signInFromProvider(PERSON)))
  const [first] = results
  if (first === undefined || first === 'disabled') throw new Error('no account')
  t.match(first.account, { name: 'Person One', email: 'alice@example.com', emailVerified: true })
  t.match(first.account, { groups: ['staff'] })
  t.equal(first.account.username, `company:${first.account.id}`)
  t.equal(
    normalizeUsername(first.account.username),
    undefined,
    'the form for local accounts rejects the name',
  )
  t.equal(results.filter((result) => result !== 'disabled' && result.isNew).length, 1)
  t.same(new Set(results.map((result) => (result === 'disabled' ? '' : result.account.id))).size, 1)
  t.equal(await accounts.verify(first.account.username, ''), undefined)
  t.match(await accounts.find(first.account.id), { name: 'Person One' })
})

t.test('signInFromProvider() updates the data, and never selects an account by e-mail', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  const accounts = createAccounts({ store: store.accounts, development: false, nowSeconds })
  const local = await accounts.add({ username: 'alice', password: PASSWORD, email: 'alice@example.com' })
  const one = await accounts.signInFromProvider(PERSON)
  const changed = {
    ...{ ...PERSON, name: 'Renamed', email: undefined, emailVerified: false },
    ...{ groups: undefined, roles: ['editor'] },
  }
  const again = await accounts.signInFromProvider(changed)
  if (!('added' in local) || one === 'disabled' || again === 'disabled') throw new Error('no account')
  t.not(one.account.id, local.added.id)
  t.equal(again.isNew, false)
  const { id } = one.account
  t.same(again.account, {
    endMark: '',
    id,
    username: `company:${id}`,
    name: 'Renamed',
    email: undefined,
    provider: 'company',
    roles: ['editor'],
  })
  t.same({ ...(await accounts.find(id)), endMark: '' }, again.account)
})

t.test('a disabled account cannot sign in and is not found', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  const accounts = createAccounts({ store: store.accounts, development: false, nowSeconds })
  const local = await accounts.add({ username: 'alice', password: PASSWORD })
  const person = await accounts.signInFromProvider(PERSON)
  if (!('added' in local) || person === 'disabled') throw new Error('no account')
  for (const { id } of [local.added, person.account]) {
    await store.accounts.setDisabled(id, 1_000)
    t.equal(await accounts.find(id), undefined)
  }
  t.equal(await accounts.verify('alice', PASSWORD), undefined)
  t.equal(await accounts.signInFromProvider(PERSON), 'disabled')
  for (const { id } of [local.added, person.account]) await store.accounts.setDisabled(id, undefined)
  t.ok(await accounts.verify('alice', PASSWORD))
  t.match(await accounts.signInFromProvider(PERSON), { isNew: false })
})
