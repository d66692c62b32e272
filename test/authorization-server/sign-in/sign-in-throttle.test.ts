import t from 'tap'
import { createSignInThrottle } from '../../../authorization-server/sign-in/sign-in-throttle.ts'

const LIMITS = { failuresPerAccount: 3, failuresPerAddress: 5, windowMs: 60_000 }

t.test('attempt() pauses the account for this address only', async (t) => {
  const { attempt } = createSignInThrottle(LIMITS, () => 1_000)
  for (let i = 0; i < 3; i++) t.equal(attempt('alice', '10.0.0.1'), undefined)
  t.strictSame(attempt('Alice ', '10.0.0.1'), { retryAfterSeconds: 60, isFirst: true })
  t.equal(attempt('alice', '10.0.0.2'), undefined)
  t.equal(attempt('bob', '10.0.0.1'), undefined)
})

t.test('attempt() pauses an address that tries many accounts', async (t) => {
  let now = 0
  const { attempt } = createSignInThrottle(LIMITS, () => now)
  for (let i = 0; i < 5; i++) t.equal(attempt(`user-${i}`, '10.0.0.1'), undefined)
  now = 59_999
  t.strictSame(attempt('user-6', '10.0.0.1'), { retryAfterSeconds: 1, isFirst: true })
  now = 60_000
  t.equal(attempt('user-6', '10.0.0.1'), undefined)
})

t.test('reports the first rejection of an account and of an address once in each window', async (t) => {
  let now = 0
  const { attempt, check } = createSignInThrottle(LIMITS, () => now)
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 3; i++) t.equal(attempt('alice', '10.0.0.1'), undefined)
    t.match(check('alice', '10.0.0.1'), { isFirst: true })
    for (const again of [check, attempt]) t.match(again('alice', '10.0.0.1'), { isFirst: false })
    for (const name of ['bob', 'carol']) t.equal(attempt(name, '10.0.0.1'), undefined)
    t.match(attempt('dave', '10.0.0.1'), { isFirst: true })
    for (const name of ['erin', 'frank', 'alice']) t.match(attempt(name, '10.0.0.1'), { isFirst: false })
    now += LIMITS.windowMs
  }
})

t.test('check() does not count an attempt', async (t) => {
  const { attempt, check } = createSignInThrottle(LIMITS, () => 0)
  for (let i = 0; i < 10; i++) t.equal(check('alice', '10.0.0.1'), undefined)
  t.equal(attempt('alice', '10.0.0.1'), undefined)
})

t.test('check() evicts no window, with any number of names and addresses', async (t) => {
  const { attempt, check } = createSignInThrottle(LIMITS, () => 0)
  for (let i = 0; i < 3; i++) attempt('alice', '10.0.0.1')
  for (let i = 0; i < 2; i++) attempt('bob', '10.0.0.1')
  for (let i = 0; i < 50_000; i++) check(`user-${i}`, `10.1.${i >> 8}.${i & 255}`)
  t.match(check('alice', '10.0.0.1'), { isFirst: true }, 'the window of the account')
  t.match(check('carol', '10.0.0.1'), { isFirst: true }, 'the window of the address')
})

t.test('attempt() counts an IPv6 /64 prefix as one address', async (t) => {
  const { attempt } = createSignInThrottle(LIMITS, () => 0)
  for (const address of ['2001:db8:1:2::1', '2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::ffff'])
    t.equal(attempt('alice', address), undefined)
  t.ok(attempt('alice', '2001:db8:1:2::9'))
  t.equal(attempt('alice', '2001:db8:1:3::9'), undefined)
  t.equal(attempt('alice', '::ffff:10.0.0.1'), undefined)
  t.equal(attempt('alice', '::ffff:10.0.0.2'), undefined)
})

t.test('attempt() counts all invalid names as one account', async (t) => {
  const { attempt } = createSignInThrottle(LIMITS, () => 0)
  for (const name of ['<a>', '<b>', '']) t.equal(attempt(name, '10.0.0.1'), undefined)
  t.ok(attempt('<c>', '10.0.0.1'))
})

t.test('succeeded() removes the failures of the account, and its own attempt', async (t) => {
  const { attempt, succeeded } = createSignInThrottle(LIMITS, () => 0)
  for (let round = 0; round < 10; round++) {
    t.equal(attempt('alice', '10.0.0.1'), undefined)
    succeeded('alice', '10.0.0.1')
  }
  succeeded('nobody', '10.0.0.9')
})

t.test('succeeded() removes attempts of the address, but not below zero', async (t) => {
  const { attempt, succeeded } = createSignInThrottle(LIMITS, () => 0)
  t.equal(attempt('alice', '10.0.0.1'), undefined)
  for (let i = 0; i < 3; i++) succeeded('alice', '10.0.0.1')
  for (let i = 0; i < 5; i++) t.equal(attempt(`user-${i}`, '10.0.0.1'), undefined)
  t.strictSame(attempt('user-5', '10.0.0.1'), { retryAfterSeconds: 60, isFirst: true })
})

t.test('check() returns the wait time of the account rather than the wait time of the address', async (t) => {
  let now = 0
  const { attempt, check } = createSignInThrottle(
    { failuresPerAccount: 1, failuresPerAddress: 2, windowMs: 60_000 },
    () => now,
  )
  t.equal(attempt('bob', '10.0.0.1'), undefined)
  now = 10_000
  t.equal(attempt('alice', '10.0.0.1'), undefined)
  t.strictSame(check('alice', '10.0.0.1'), { retryAfterSeconds: 60, isFirst: true })
  t.strictSame(check('carol', '10.0.0.1'), { retryAfterSeconds: 50, isFirst: true })
})

t.test('keeps the windows of 50,000 accounts and of 50,000 addresses', async (t) => {
  const address = (index: number) => `10.1.${index >> 8}.${index & 255}`
  const limits = { failuresPerAccount: 1, failuresPerAddress: 1_000_000, windowMs: 60_000 }
  for (const [others, isPaused] of [
    [49_999, true],
    [50_000, false],
  ] as const) {
    const accounts = createSignInThrottle(limits, () => 0)
    accounts.attempt('alice', '10.0.0.1')
    for (let i = 0; i < others; i++) accounts.attempt(`user-${i}`, '10.0.0.1')
    t.equal(accounts.check('alice', '10.0.0.1') !== undefined, isPaused, `${others} other accounts`)
    const addresses = createSignInThrottle(
      { ...limits, failuresPerAccount: 2, failuresPerAddress: 1 },
      () => 0,
    )
    addresses.attempt('alice', '10.0.0.1')
    for (let i = 0; i < others; i++) addresses.attempt('alice', address(i))
    t.equal(addresses.check('bob', '10.0.0.1') !== undefined, isPaused, `${others} other addresses`)
  }
})
