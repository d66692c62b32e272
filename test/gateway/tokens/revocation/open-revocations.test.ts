import t from 'tap'
import { isPushed, sharedAgeMs, statusCapMs } from '../../../../gateway/tokens/revocation/open-revocations.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'

const ISSUER = 'https://issuer.example'
const aCache = (change = {}) => ({
  maxEntries: 1,
  maxBytes: 1,
  negativeTtlMs: 5_000,
  maxTtlMs: 30_000,
  ttlWithoutPushMs: 5_000,
  shared: true,
  ...change,
})
const channels = ({ isConfigured = true, isConnected = false, marks = true }) => ({
  isConfigured: () => isConfigured,
  isConnected: () => isConnected,
  marks: () => marks,
})

t.test('statusCapMs() reserves a tenth of the bound for the next introspection', async (t) => {
  t.equal(statusCapMs(aCache(), channels({}), ISSUER), 4_500)
  t.equal(statusCapMs(aCache({ ttlWithoutPushMs: 1_000 }), channels({}), ISSUER), 900)
  t.equal(statusCapMs(aCache({ ttlWithoutPushMs: 0 }), channels({}), ISSUER), 0)
})

t.test('statusCapMs() never exceeds maxTtl', async (t) => {
  t.equal(statusCapMs(aCache({ maxTtlMs: 2_000 }), channels({}), ISSUER), 2_000)
})

t.test('statusCapMs() is maxTtl while revocations arrive, and without configured revocations', async (t) => {
  t.equal(statusCapMs(aCache(), channels({ isConnected: true }), ISSUER), 30_000)
  t.equal(statusCapMs(aCache(), channels({ isConfigured: false }), ISSUER), 30_000)
})

t.test('sharedAgeMs() accepts no entry older than the limit of a local token status', async (t) => {
  const own = { issuer: ISSUER, sinceGapMs: 60_000 }
  t.equal(sharedAgeMs(aCache(), channels({}), own), 4_500)
  t.equal(sharedAgeMs(aCache(), channels({ marks: false }), { ...own, sinceGapMs: 100 }), 100)
  t.equal(
    sharedAgeMs(aCache(), channels({}), { ...own, sinceGapMs: 100 }),
    4_500,
    'revocation marks are checked',
  )
  t.equal(
    sharedAgeMs(aCache(), channels({ isConfigured: false, marks: false }), { ...own, sinceGapMs: 1 }),
    30_000,
  )
})

t.test('isPushed() returns false for a JWT when maxRevocationDelay has passed during a gap', async (t) => {
  const caller = aCaller({ issuer: ISSUER })
  const connected = channels({ isConnected: true })
  const issuers = (usableMs: number) => [{ issuer: ISSUER, usableMs: () => usableMs }]
  t.equal(isPushed(caller, connected, issuers(1)), true)
  t.equal(isPushed(caller, connected, issuers(0)), false)
  t.equal(isPushed(caller, connected, [{ issuer: ISSUER }]), true)
  t.equal(isPushed(caller, connected, [{ issuer: 'https://other.test', usableMs: () => 0 }]), true)
  t.equal(isPushed(caller, channels({}), issuers(1)), false)
})
