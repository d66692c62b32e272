import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { startTrial } from '../../bench/soak/availability-trial.ts'
import { recordCredential } from '../fixtures/capture.ts'

// A short version of `npm run soak:availability`, with two gateways and an authorization server on one durable Redis.
t.test('a restart of Redis under load loses no grant and causes no wrong decision', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const trial = await startTrial({
    folder,
    cleanup,
    store: 'redis',
    tokens: 'opaque',
    servers: 1,
    workers: 1,
    perSecond: 40,
    sequences: 3,
    revocationsPerSecond: 2,
    known: 5,
    reserve: 5,
    quietMs: 0,
    downMs: 1_500,
    freezeMs: 0,
    partitionMs: 0,
    awayMs: 0,
    settleMs: 0,
    calmMs: 1_000,
    gatewaySettings: { SCOPEGATE_TOKEN_CACHE__MAX_TTL: '1s' },
    secret: (value) => value !== undefined && recordCredential(value),
  })
  t.teardown(() => trial.stop())

  const result = await trial.measure('restart')
  t.comment(result?.statuses, `recovery ${result?.recoveryMs?.toFixed(0)} ms`)
  t.match(result, { failedKnown: 0, wrongDecisions: 0, lostGrants: 0, recoveryMs: Number })
  const kinds = Object.keys(result?.statuses ?? {})
  for (const kind of ['known 201', 'denied 403', 'revoked 401', 'refresh 200', 'refresh 503', 'revoke 200'])
    t.ok(kinds.includes(kind), kind)
})
