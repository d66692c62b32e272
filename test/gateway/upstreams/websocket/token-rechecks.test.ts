import t from 'tap'
import { TokenCache } from '../../../../gateway/tokens/cache/token-cache.ts'
import type { TokenStatus } from '../../../../gateway/tokens/cache/token-status.ts'
import { createTokenValidator } from '../../../../gateway/tokens/cache/token-validator.ts'
import { IntrospectionError } from '../../../../gateway/tokens/introspection/introspection-error.ts'
import type { Issuer } from '../../../../gateway/tokens/issuer.ts'
import {
  createTokenRechecks,
  type OpenSession,
} from '../../../../gateway/upstreams/websocket/token-rechecks.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { aClock } from '../../../fixtures/a-clock.ts'

const GOOD: TokenStatus = { active: true, caller: aCaller({}) }
const BAD: TokenStatus = { active: false, fault: { reason: 'inactive' } }

const ISSUERS = ['https://a.test', 'https://b.test']

function setUp() {
  const asked: string[] = []
  const closed: string[] = []
  const now = { ms: 0 }
  let answer: (token: string) => TokenStatus | Promise<TokenStatus> = () => GOOD
  const rechecks = createTokenRechecks({
    validate: (token) => {
      asked.push(token)
      return answer(token)
    },
    graceMs: 30_000,
    staleIfErrorMs: () => 60_000,
    tickMs: () => now.ms,
  })
  const session = (token: string, hasAccess = true): OpenSession => ({
    session: {
      close: (code: number, reason: string) => closed.push(`${token} ${code} ${reason}`),
    } as unknown as OpenSession['session'],
    identity: { token, issuers: ISSUERS, caller: aCaller({}), hasAccess: () => hasAccess },
  })
  return {
    rechecks,
    asked,
    closed,
    now,
    session,
    answerWith: (how: typeof answer) => {
      answer = how
    },
    settle: async () => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const away = (): Promise<TokenStatus> => Promise.reject(new Error('the token status is unavailable'))

t.test('a session is closed when its token cannot be validated, but not at the first failure', async (t) => {
  const { rechecks, closed, now, session, answerWith, settle } = setUp()
  const open = session('one')
  answerWith(away)
  for (now.ms = 0; now.ms < 30_000; now.ms += 5_000) {
    rechecks.add(open)
    await settle()
    t.same(closed, [], `${now.ms} ms`)
    t.equal(rechecks.isUnconfirmed(open), true)
  }
  rechecks.add(open)
  await settle()
  t.same(closed, ['one 1011 token cannot be checked'])
})

t.test('a successful validation resets the grace time, and the next failure starts it again', async (t) => {
  const { rechecks, closed, now, session, answerWith, settle } = setUp()
  const open = session('one')
  answerWith(away)
  rechecks.add(open)
  await settle()
  now.ms = 29_000
  answerWith(() => GOOD)
  rechecks.add(open)
  await settle()
  t.equal(rechecks.isUnconfirmed(open), false)
  answerWith(away)
  now.ms = 40_000
  rechecks.add(open)
  await settle()
  t.same(closed, [])
  now.ms = 70_000
  rechecks.add(open)
  await settle()
  t.same(closed, ['one 1011 token cannot be checked'])
})

t.test('the grace time starts at the first failed validation, after a delay of any length', async (t) => {
  const { rechecks, closed, now, session, answerWith, settle } = setUp()
  const open = session('one')
  const silence = Promise.withResolvers<TokenStatus>()
  answerWith(() => silence.promise)
  rechecks.add(open)
  now.ms = 30_000
  silence.reject(new Error('too late'))
  await settle()
  t.same(closed, ['one 1011 token cannot be checked'])
})

t.test('a session closes immediately when its token is revoked or no longer sufficient', async (t) => {
  const { rechecks, closed, session, answerWith, settle } = setUp()
  answerWith((token) => (token === 'bad' ? BAD : GOOD))
  for (const open of [session('bad'), session('poor', false), session('good')]) rechecks.add(open)
  rechecks.add({ ...session('nobody'), identity: undefined })
  await settle()
  t.same(closed, ['bad 1008 token no longer valid', 'poor 1008 no longer allowed'])
})

t.test(
  'thousands of open sessions recheck once each with bounded concurrency, and closed sessions do not recheck',
  async (t) => {
    const { rechecks, asked, closed, session, answerWith, settle } = setUp()
    const waiting: (() => void)[] = []
    answerWith(() => new Promise((resolve) => waiting.push(() => resolve(GOOD))))
    const opens = Array.from({ length: 1_000 }, (_, index) => session(String(index)))
    for (const open of [...opens, ...opens]) rechecks.add(open)
    let most = 0
    rechecks.remove(opens.at(-1) as OpenSession)
    while (waiting.length > 0) {
      most = Math.max(most, waiting.length)
      for (const answer of waiting.splice(0)) answer()
      await settle()
    }
    t.ok(most <= 16, `${most} concurrent rechecks`)
    t.ok(asked.length <= 999 + 16, `${asked.length}: only rechecks in progress are repeated`)
    t.equal(new Set(asked).size, 999)
    t.same(closed, [])
  },
)

const outage = (): Promise<TokenStatus> =>
  Promise.reject(new IntrospectionError('ERR_INTROSPECTION_CONNECTION', 'no connection'))

t.test('a session stays open during an outage of the issuer, until staleIfError has passed', async (t) => {
  for (const failure of [outage, (): TokenStatus => ({ active: true, caller: aCaller({}), isStale: true })]) {
    const { rechecks, closed, now, session, answerWith, settle } = setUp()
    const open = session('one')
    answerWith(failure)
    for (now.ms = 0; now.ms < 90_000; now.ms += 5_000) {
      rechecks.add(open)
      await settle()
      t.same(closed, [], `${now.ms} ms`)
      t.equal(rechecks.isUnconfirmed(open), true, 'the session needs another validation')
    }
    answerWith(outage)
    rechecks.add(open)
    await settle()
    t.same(closed, ['one 1011 token cannot be checked'])
  }
})

t.test('a session ends after the grace time when the issuer rejects the gateway', async (t) => {
  const { rechecks, closed, now, session, answerWith, settle } = setUp()
  const open = session('one')
  answerWith(() => Promise.reject(new IntrospectionError('ERR_INTROSPECTION_CREDENTIALS', 'rejected')))
  rechecks.add(open)
  await settle()
  now.ms = 30_000
  rechecks.add(open)
  await settle()
  t.same(closed, ['one 1011 token cannot be checked'])
})

t.test('an earlier status closes a session that no longer has access', async (t) => {
  const { rechecks, closed, session, answerWith, settle } = setUp()
  answerWith(() => ({ active: true, caller: aCaller({}), isStale: true }))
  rechecks.add(session('poor', false))
  await settle()
  t.same(closed, ['poor 1008 no longer allowed'])
})

t.test('only the issuer of its token keeps a session open during an outage', async (t) => {
  const { closed, session, settle } = setUp()
  const results: Record<string, () => Promise<TokenStatus>> = {
    'https://a.test': outage,
    'https://b.test': async () => BAD,
  }
  const issuers = ISSUERS.map(
    (issuer): Issuer => ({
      issuer,
      id: issuer,
      verify: undefined,
      introspect: async () => ({
        status: (await results[issuer]?.()) ?? BAD,
        ageMs: 0,
        ttlMs: Infinity,
      }),
      ready: true,
      close: async () => undefined,
    }),
  )
  const clock = aClock()
  const cache = new TokenCache({ maxEntries: 1, maxBytes: 1e6, maxTtlMs: 30_000, negativeTtlMs: 0 })
  const { validate } = createTokenValidator({ ...clock, issuers, cache, observe: { hit() {}, miss() {} } })
  const rechecks = createTokenRechecks({
    validate,
    graceMs: 30_000,
    staleIfErrorMs: () => 60_000,
    tickMs: clock.tickMs,
  })
  const open = (name: string) => {
    const { identity, ...other } = session(name)
    return {
      ...other,
      identity: identity && { ...identity, caller: aCaller({ issuer: 'https://b.test' }) },
    }
  }
  rechecks.add(open('revoked'))
  await settle()
  t.same(
    closed,
    ['revoked 1008 token no longer valid'],
    'its issuer rejects the token, and the other one is away',
  )

  results['https://a.test'] = async () => BAD
  results['https://b.test'] = outage
  const known = open('known')
  rechecks.add(known)
  await clock.advance(89_999)
  rechecks.add(known)
  await settle()
  t.equal(closed.length, 1)
  await clock.advance(1)
  rechecks.add(known)
  await settle()
  t.same(closed.slice(1), ['known 1011 token cannot be checked'])
})
