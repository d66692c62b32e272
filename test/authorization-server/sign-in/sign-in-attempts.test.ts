import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  ATTEMPT_MODEL,
  createSignInAttempts,
  type SignInAttempt,
} from '../../../authorization-server/sign-in/sign-in-attempts.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const ATTEMPT: SignInAttempt = {
  interaction: 'uid-1',
  provider: 'company',
  issuer: 'https://login.test',
  startedAtSeconds: 1_000,
  maxAgeSeconds: 60,
  isNewAuthentication: true,
}
const BROWSER = 'b'.repeat(43)
const SOURCE = { address: '192.0.2.1', network: '192.0.2.1' }

function open(t: Test, clock = { now: 1_000 }) {
  const file = join(t.testdir(), 'x.sqlite')
  const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => clock.now })
  t.teardown(() => store.close())
  const attempts = createSignInAttempts({
    artifacts: store.artifacts(ATTEMPT_MODEL),
    expiresInSeconds: 600,
    bound: { perAddress: 2, total: 10 },
  })
  return { attempts, clock, file }
}

t.test('an attempt is found until it is consumed, and consumed once', async (t) => {
  const { attempts } = open(t)
  const { state } = await attempts.start(ATTEMPT, BROWSER, SOURCE)
  t.strictSame(await attempts.find(state), ATTEMPT)
  const results = await Promise.all(Array.from({ length: 10 }, () => attempts.consume(state)))
  t.equal(results.filter(Boolean).length, 1)
  t.equal(await attempts.find(state), undefined)
  t.equal(await attempts.isOfBrowser(state, BROWSER), false)
})

t.test('an attempt belongs to one browser, and another cookie gives other secrets', async (t) => {
  const { attempts } = open(t)
  const secrets = await attempts.start(ATTEMPT, BROWSER, SOURCE)
  t.strictSame(attempts.secrets(secrets.state, BROWSER), secrets)
  for (const other of ['a'.repeat(43), '', `${BROWSER} `]) {
    t.equal(await attempts.isOfBrowser(secrets.state, other), false)
    const wrong = attempts.secrets(secrets.state, other)
    t.not(wrong.nonce, secrets.nonce)
    t.not(wrong.codeVerifier, secrets.codeVerifier)
  }
  t.equal(await attempts.isOfBrowser(secrets.state, BROWSER), true)
  t.match(secrets.codeVerifier, /^[A-Za-z0-9_-]{43}$/)
  t.not(secrets.nonce, secrets.codeVerifier)
})

t.test('an attempt expires, and an invalid state is not looked up', async (t) => {
  const { attempts, clock } = open(t)
  const { state } = await attempts.start(ATTEMPT, BROWSER, SOURCE)
  for (const wrong of ['', 'x', `${state}x`, state.slice(1), `${state.slice(1)}%`]) {
    t.equal(await attempts.find(wrong), undefined)
    t.equal(await attempts.consume(wrong), false)
  }
  clock.now += 600
  t.equal(await attempts.find(state), undefined)
  t.equal(await attempts.consume(state), false)
})

t.test('an address has a bounded number of attempts', async (t) => {
  const { attempts } = open(t)
  const states: string[] = []
  for (let count = 0; count < 3; count++) states.push((await attempts.start(ATTEMPT, BROWSER, SOURCE)).state)
  const found = await Promise.all(states.map((state) => attempts.find(state)))
  t.strictSame(
    found.map((attempt) => attempt !== undefined),
    [false, true, true],
  )
})

t.test('the store contains neither the state nor the secrets nor the cookie', async (t) => {
  const { attempts, file } = open(t)
  const secrets = await attempts.start(ATTEMPT, BROWSER, SOURCE)
  const content = ['', '-wal'].map((end) => readFileSync(file + end, 'latin1')).join('')
  t.match(content, 'uid-1')
  for (const secret of [...Object.values(secrets), BROWSER]) t.notMatch(content, secret)
})
