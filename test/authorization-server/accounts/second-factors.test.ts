import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { createAccounts } from '../../../authorization-server/accounts/accounts.ts'
import { createSecondFactors } from '../../../authorization-server/accounts/second-factors.ts'
import { codeAt, STEP_SECONDS } from '../../../authorization-server/accounts/totp.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const PASSWORD = 'correct horse battery staple'
const WRONG = '000000'

/** Opens two servers on one store. Each server has its own clock. */
async function open(t: Test) {
  const file = join(t.testdir(), 'store.sqlite')
  const clock = { one: 1_000_000, two: 1_000_000 }
  const keys = { current: ['key'] }
  const server = (name: 'one' | 'two') => {
    const nowSeconds = () => clock[name]
    const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds })
    t.teardown(() => store.close())
    const factors = createSecondFactors({ store: store.accounts, cookieKeys: () => keys.current, nowSeconds })
    return { factors, accounts: createAccounts({ store: store.accounts, development: true, nowSeconds }) }
  }
  const [one, two] = [server('one'), server('two')]
  const added = await one.accounts.add({ username: 'carol', password: PASSWORD })
  if ('rejected' in added) throw new Error(added.message)
  const { id } = added.added
  /** Returns the secret and the recovery codes. */
  const setUp = async (step: 'set-up' | 'replace' = 'set-up') => {
    const proof = await one.factors.readProof(
      (await one.factors.issueProof(id, 'place', step)) ?? '',
      'place',
    )
    const { secret } = proof ?? {}
    if (proof === undefined || secret === undefined) throw new Error('no secret')
    const codes = await one.factors.set(proof, codeNow(secret, clock.one))
    if (typeof codes === 'string') throw new Error(codes)
    return { secret, codes }
  }
  return { file, clock, keys, one, two, id, setUp }
}

function codeNow(secret: Buffer, seconds: number): string {
  return codeAt(secret, Math.floor(seconds / STEP_SECONDS))
}

t.test('a code is valid once, also with two servers at the same time', async (t) => {
  const { clock, id, one, two, setUp } = await open(t)
  t.equal(await one.factors.useCode(id, WRONG), 'none')
  const { secret } = await setUp()
  t.equal(await one.factors.useCode(id, codeNow(secret, clock.one)), 'wrong', 'set() used the code')
  clock.one = clock.two += STEP_SECONDS
  const code = codeNow(secret, clock.one)
  const uses = Array.from({ length: 8 }, (_, i) => (i % 2 ? one : two).factors.useCode(id, code))
  const results = await Promise.all(uses)
  t.equal(results.filter((result) => result === 'otp').length, 1)
  t.equal(results.filter((result) => result === 'wrong').length, 7)
  clock.one += STEP_SECONDS
  t.equal(await two.factors.useCode(id, code), 'wrong')
  t.equal(await one.factors.useCode(id, WRONG), 'wrong')
})

t.test('a code is valid when the clocks of two servers differ by one step', async (t) => {
  const { clock, id, two, setUp } = await open(t)
  const { secret } = await setUp()
  clock.one += 2 * STEP_SECONDS
  for (const behind of [-STEP_SECONDS, STEP_SECONDS]) {
    clock.two = clock.one + behind
    t.equal(await two.factors.useCode(id, codeNow(secret, clock.one)), 'otp')
    clock.one += STEP_SECONDS
  }
  clock.two = clock.one - 2 * STEP_SECONDS
  t.equal(await two.factors.useCode(id, codeNow(secret, clock.one)), 'wrong', 'two steps')
})

t.test('each recovery code is valid once, also with two servers at the same time', async (t) => {
  const { id, one, two, setUp } = await open(t)
  const { codes } = await setUp()
  t.equal(new Set(codes).size, 10)
  for (const code of codes) t.match(code, /^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/)
  const [first = '', second = ''] = codes
  const typed = first.toLowerCase().replaceAll('-', ' ')
  const uses = [one, two, one, two].map(({ factors }) => factors.useCode(id, typed))
  t.strictSame((await Promise.all(uses)).toSorted(), ['recovery_code', 'wrong', 'wrong', 'wrong'])
  t.equal(await one.factors.useCode(id, first), 'wrong')
  t.equal((await one.factors.find(id))?.recoveryCodesLeft, 9)
  const replaced = await one.factors.replaceRecoveryCodes(id)
  t.equal(await two.factors.useCode(id, second), 'wrong', 'a replaced code')
  t.equal(await two.factors.useCode(id, replaced?.[0] ?? ''), 'recovery_code')
  t.equal(await one.factors.replaceRecoveryCodes('nobody'), undefined)
})

t.test('a second factor is set once, and only for the place of its proof', async (t) => {
  const { clock, id, one, two, setUp } = await open(t)
  const [tab, other] = [
    await one.factors.issueProof(id, 'a', 'set-up'),
    await one.factors.issueProof(id, 'a', 'set-up'),
  ]
  t.equal(await one.factors.readProof(tab ?? '', 'b'), undefined, 'another session')
  t.equal(await one.factors.readProof(`A${tab}`, 'a'), undefined)
  t.equal(await one.factors.issueProof('nobody', 'a', 'set-up'), undefined)
  const proofs = [await one.factors.readProof(tab ?? '', 'a'), await two.factors.readProof(other ?? '', 'a')]
  const results = await Promise.all(
    proofs.map(async (proof, i) => {
      if (proof?.secret === undefined) throw new Error('no proof')
      t.equal(await one.factors.set(proof, WRONG), 'wrong')
      return (i === 0 ? one : two).factors.set(proof, codeNow(proof.secret, clock.one))
    }),
  )
  t.equal(results.filter((result) => result === 'outdated').length, 1)
  t.equal(results.filter((result) => Array.isArray(result)).length, 1)
  await t.rejects(setUp(), { message: 'outdated' }, 'a proof without a code of the present second factor')
  const { secret } = await setUp('replace')
  clock.one += STEP_SECONDS
  t.equal(await one.factors.useCode(id, codeNow(secret, clock.one)), 'otp')
  const codeOnly = await one.factors.readProof((await one.factors.issueProof(id, 'a', 'code')) ?? '', 'a')
  t.strictSame(codeOnly, { accountId: id, secret: undefined, replaces: undefined, endMark: '' })
  if (codeOnly !== undefined) t.equal(await one.factors.set(codeOnly, WRONG), 'outdated')
})

t.test('a proof expires after 15 minutes, and with the password', async (t) => {
  const { clock, id, one } = await open(t)
  const proof = (await one.factors.issueProof(id, 'a', 'code')) ?? ''
  clock.one += 900
  t.ok(await one.factors.readProof(proof, 'a'))
  clock.one += 1
  t.equal(await one.factors.readProof(proof, 'a'), undefined)
  const next = (await one.factors.issueProof(id, 'a', 'code')) ?? ''
  t.ok(await one.factors.readProof(next, 'a'))
  await one.accounts.setPassword(id, `another ${PASSWORD}`)
  t.equal(await one.factors.readProof(next, 'a'), undefined)
})

t.test('a new password keeps the second factor, and remove() removes it', async (t) => {
  const { clock, id, one, two, setUp } = await open(t)
  const { secret } = await setUp()
  await one.accounts.setPassword(id, `another ${PASSWORD}`)
  t.match(await two.accounts.find(id), { hasSecondFactor: true })
  t.equal((await two.factors.find(id))?.setAtSeconds, clock.one)
  t.equal(await one.factors.remove(id), true)
  t.equal(await two.factors.remove(id), false)
  t.equal((await two.accounts.find(id))?.hasSecondFactor, undefined)
  t.equal(await two.factors.useCode(id, codeNow(secret, clock.one)), 'none')
})

t.test('reencryptAll() makes earlier cookie keys unnecessary', async (t) => {
  const { clock, id, keys, one, setUp } = await open(t)
  const { secret, codes } = await setUp()
  t.equal(await one.factors.reencryptAll(), 0)
  keys.current = ['new', 'key']
  t.equal(await one.factors.reencryptAll(), 1)
  t.equal(await one.factors.reencryptAll(), 0)
  keys.current = ['new']
  clock.one += STEP_SECONDS
  t.equal(await one.factors.useCode(id, codeNow(secret, clock.one)), 'otp')
  keys.current = ['another']
  clock.one += STEP_SECONDS
  t.equal(await one.factors.useCode(id, codeNow(secret, clock.one)), 'wrong', 'the key is lost')
  t.equal(await one.factors.useCode(id, codes[0] ?? ''), 'recovery_code')
  t.equal(await one.factors.reencryptAll(), 0)
})

t.test('reencryptAll() names a damaged second factor and continues with the next account', async (t) => {
  const { clock, file, id, keys, one, setUp } = await open(t)
  const { secret } = await setUp()
  await one.accounts.add({ username: 'dave', password: PASSWORD })
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  // The ID `!` is the first in the order of the store.
  database.prepare("update accounts set id = '!', second_factor = '{' where username = 'dave'").run()
  keys.current = ['new', 'key']
  await t.rejects(one.factors.reencryptAll(), { code: 'ERR_STORE_DAMAGED', message: /Accounts: !$/ })
  keys.current = ['new']
  clock.one += STEP_SECONDS
  t.equal(await one.factors.useCode(id, codeNow(secret, clock.one)), 'otp')
})

t.test('a damaged second factor is an error, and remove() removes it', async (t) => {
  const { file, id, one, setUp } = await open(t)
  await setUp()
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  for (const damaged of ['{', '{}', 'null']) {
    database.prepare('update accounts set second_factor = ?').run(damaged)
    await t.rejects(one.factors.useCode(id, WRONG), { code: 'ERR_STORE_DAMAGED' })
    t.match(await one.accounts.find(id), { hasSecondFactor: true })
  }
  t.equal(await one.factors.remove(id), true)
})

t.test('the store has no secret and no recovery code in the clear', async (t) => {
  const { file, setUp } = await open(t)
  const { secret, codes } = await setUp()
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  const stored = String(database.prepare('select second_factor from accounts').get()?.['second_factor'])
  for (const clear of [secret.toString('base64url'), secret.toString('hex'), ...codes])
    t.notMatch(stored, clear)
  t.notMatch(stored, codes[0]?.replaceAll('-', '') ?? '')
})
