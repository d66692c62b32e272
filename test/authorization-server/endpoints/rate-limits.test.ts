import t from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { createAddressLimit } from '../../../platform/net/address-limit.ts'
import { send } from '../../fixtures/send.ts'
import { aConfig, startServer } from '../../fixtures/start-authorization-server.ts'

t.test('take() rejects only the address over its limit, until its window ends', async (t) => {
  let nowMs = 0
  const limit = createAddressLimit({ perAddress: 2, windowMs: 60_000 }, () => nowMs)
  t.equal(limit.take('192.0.2.1'), undefined)
  t.equal(limit.take('192.0.2.1'), undefined)
  nowMs = 1_000
  t.same(limit.take('192.0.2.1'), { retryAfterSeconds: 59 })
  t.equal(limit.take('192.0.2.2'), undefined)
  nowMs = 59_999
  t.same(limit.take('192.0.2.1'), { retryAfterSeconds: 1 })
  nowMs = 60_000
  t.equal(limit.take('192.0.2.1'), undefined)
})

t.test('take() counts an IPv6 /64 prefix as one address', async (t) => {
  const limit = createAddressLimit({ perAddress: 1, windowMs: 60_000 }, () => 0)
  t.equal(limit.take('2001:db8:1:2::1'), undefined)
  t.ok(limit.take('2001:db8:1:2:ffff::9'))
  t.equal(limit.take('2001:db8:1:3::1'), undefined)
})

t.test('take() returns at least one second, also when the window ends during the call', async (t) => {
  let nowMs = 0
  const limit = createAddressLimit({ perAddress: 0, windowMs: 1 }, () => nowMs++)
  t.same(limit.take('192.0.2.1'), { retryAfterSeconds: 1 })
})

t.test('createAddressLimit() keeps the windows of 50,000 addresses', async (t) => {
  for (const [others, isKept] of [
    [49_999, true],
    [50_000, false],
  ] as const) {
    const limit = createAddressLimit({ perAddress: 1, windowMs: 60_000 }, () => 0)
    limit.take('192.0.2.1')
    for (let i = 0; i < others; i++) limit.take(`10.1.${i >> 8}.${i & 255}`)
    t.equal(limit.take('192.0.2.1') !== undefined, isKept, `${others} others`)
  }
})

t.test(
  'too many registrations get 429 with Retry-After, and rejected registrations do not count',
  async (t) => {
    const { registration } = await aConfig(t.testdir())
    const server = await startServer(t, {
      registration: { ...registration, rateLimit: { perAddress: 3, windowMs: 600_000 } },
    })
    const register = (redirectUri: string) =>
      send(`${server.baseUrl}${ENDPOINTS.registration}`, { json: { redirect_uris: [redirectUri] } })
    for (let i = 0; i < 5; i++) t.equal((await register('https://app.example.com/callback')).status, 400)
    for (let i = 0; i < 3; i++) t.equal((await register('http://127.0.0.1:4000/callback')).status, 201)

    const rejected = await register('http://127.0.0.1:4000/callback')
    t.match(rejected, {
      status: 429,
      json: {
        error: 'rate_limited',
        error_description:
          /^Too many clients were registered from this address\. A client registers once and keeps its client_id\. Try again in \d+ seconds\.$/,
      },
    })
    const retryAfter = Number(rejected.headers.get('retry-after'))
    t.ok(retryAfter > 0 && retryAfter <= 600, `Retry-After: ${retryAfter}`)
    t.equal(rejected.headers.get('cache-control'), 'no-store')
    t.equal(rejected.headers.get('access-control-allow-origin'), '*')
    t.notOk('client_id' in rejected.json)
    t.equal((await send(`${server.baseUrl}${ENDPOINTS.jwks}`)).status, 200, 'other endpoints still respond')
  },
)
