// Before the fix, after one Redis call of more than 75 ms, a gateway detected replays only locally. In this test, 4 of
// 100 proofs could be used twice.
import t, { type Test } from 'tap'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { type Fault, type FaultProxy, startFaultProxy } from '../fixtures/fault-proxy.ts'
import { parseObject } from '../fixtures/send.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

const ROUNDS = 100
const SLOW: Fault = { latencyMs: 100 }
/** Redis timeout of a gateway. If a round takes longer, the machine is busy and the test ignores the round. */
const PATIENCE_MS = 1_000

const key = aProofKey()
const token = 'bound-token'

type Replica = { readonly under: GatewayUnderTest; readonly proxy: FaultProxy }

t.test('two gateways with one Redis accept a proof once while one call to Redis is slow', async (t) => {
  const redis = await startRedis({ folder: t.testdir({ redis: {} }) })
  t.teardown(redis.stop)
  const replicas = [await startReplica(t, redis.port), await startReplica(t, redis.port)] as const

  await waitForRedis(replicas)
  let counted = 0
  for (let attempt = 0; counted < ROUNDS; attempt++) {
    const [slow, fast] = attempt % 2 === 0 ? replicas : [replicas[1], replicas[0]]
    const isRequestLate = attempt % 4 < 2
    if (isRequestLate) slow.proxy.toTarget(SLOW)
    else slow.proxy.toClient(SLOW)
    const proof = aProof({ key, url: `${BASE_URL}/api/courses`, token })
    const before = await fallbacks(replicas)
    const startedMs = performance.now()
    const answers = await Promise.all([call(slow.under, proof), call(fast.under, proof)])
    const tookMs = performance.now() - startedMs
    slow.proxy.heal()
    if (tookMs >= PATIENCE_MS) {
      await waitForRedis(replicas)
      continue
    }
    counted += 1
    const statuses = answers.map(({ status }) => status).sort()
    t.same(statuses, [200, 401], `round ${counted}`)
    const rejected = answers.find(({ status }) => status === 401)
    t.match(rejected?.headers.get('www-authenticate'), /^DPoP error="invalid_dpop_proof"/)
    t.equal(parseObject((await rejected?.text()) ?? '')['error'], 'invalid_dpop_proof')
    t.equal(await fallbacks(replicas), before, 'no gateway fell back to its own memory')
  }
})

async function startReplica(t: Test, redisPort: number): Promise<Replica> {
  const proxy = await startFaultProxy(redisPort)
  t.teardown(proxy.close)
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, redis: { url: `redis://127.0.0.1:${proxy.port}` } }),
  })
  const binding = { sub: 'u1', scope: 'courses:read', token_type: 'DPoP', cnf: { jkt: key.thumbprint } }
  under.issuer.store(token, binding)
  return { under, proxy }
}

function call({ gateway }: GatewayUnderTest, proof: string): Promise<Response> {
  return fetch(`${gateway.url}/api/courses`, { headers: { authorization: `DPoP ${token}`, dpop: proof } })
}

async function fallbacks(replicas: readonly Replica[]): Promise<number> {
  let sum = 0
  for (const { under } of replicas) {
    const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
    sum += Number(/^scopegate_dpop_replay_fallback_total (\d+)/m.exec(metrics)?.[1])
  }
  return sum
}

async function waitForRedis(replicas: readonly Replica[]): Promise<void> {
  await until('both gateways use Redis', async () => {
    const before = await fallbacks(replicas)
    for (const { under } of replicas)
      await call(under, aProof({ key, url: `${BASE_URL}/api/courses`, token }))
    return (await fallbacks(replicas)) === before
  })
}
