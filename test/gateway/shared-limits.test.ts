import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { LocalLimiter } from '../../gateway/limits/local-limiter.ts'
import { rateLimitKey } from '../../gateway/limits/rate-limit-key.ts'
import { readPresets } from '../../policy-engine/format/presets.ts'
import { compileSharedLimit } from '../../policy-engine/format/rate-limit.ts'
import { aCaller } from '../fixtures/a-caller.ts'
import { startFastifyService } from '../fixtures/a-fastify-service.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

const LIMITS = `sharedLimits:
  api: { requests: 3, per: 1h, key: subject }
  tenants: { requests: 2, per: 1h, claim: tenant }
  apps: { per: 1h, key: client, plans: { claim: plan, values: { free: 1, pro: 3 }, default: 2 } }
  places: { requests: 5, per: 1h, key: address }
`
const ROUTES = ['one', 'two', 'tenants', 'apps', 'both', 'plain']
const NAMES: Readonly<Record<string, string>> = {
  one: 'sharedLimits: [api]',
  two: 'sharedLimits: [api]',
  tenants: 'sharedLimits: [tenants]',
  apps: 'sharedLimits: [apps]',
  both: 'sharedLimits: [places, api], rateLimit: { requests: 2, per: 1h, by: route }',
  plain: 'sharedLimits: []',
}
const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow, sharedLimits: [places] }
routes:
${ROUTES.map((name) => `  - { name: ${name}, match: { methods: [GET], path: /${name} }, ${NAMES[name]} }\n`).join('')}`

/** Starts a gateway with shared limits, and returns a function that sends a request. */
async function start(t: Test, change = (config: GatewayConfig) => config) {
  let presetsFile = ''
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change(config) {
      const folder = join(config.policiesDir, '.config')
      presetsFile = join(folder, 'presets.yaml')
      mkdirSync(folder)
      writeFileSync(presetsFile, LIMITS)
      return change({
        ...config,
        trustedProxies: ['127.0.0.1'],
        presetsFile,
        presets: readPresets(presetsFile),
      })
    },
  })
  let tokens = 0
  return {
    ...under,
    presetsFile,
    /** Sends a request with a token of these claims. Without claims, sends no token. */
    ask(path: string, claims?: Readonly<Record<string, unknown>>, from = '203.0.113.1') {
      tokens += 1
      const token = claims === undefined ? undefined : `token-${tokens}`
      if (token !== undefined) under.issuer.store(token, { client_id: 'app', scope: 'openid', ...claims })
      return send(under.gateway.url + path, { token, headers: { 'x-forwarded-for': from } })
    },
  }
}

t.test('all routes that name a limit count together, and the fields name the limit', async (t) => {
  const { ask, upstream, log, gateway } = await start(t)
  const alice = { sub: 'alice' }
  for (const [path, remaining] of [
    ['/one', 2],
    ['/two', 1],
    ['/one', 0],
  ] as const) {
    const { status, headers } = await ask(path, alice)
    t.equal(status, 200)
    t.equal(headers.get('ratelimit-policy'), '"api";q=3;w=3600')
    t.match(headers.get('ratelimit'), new RegExp(`^"api";r=${remaining};t=\\d+$`))
  }
  const rejected = await ask('/two', alice)
  t.equal(rejected.status, 429)
  const wait = Number(rejected.headers.get('retry-after'))
  t.ok(wait > 1_190 && wait <= 1_200, `${wait} s: a third of an hour`)
  t.match(rejected.headers.get('ratelimit'), /^"api";r=0;t=\d+$/)
  t.equal(upstream.requests.length, 3)
  t.equal((await ask('/two', { sub: 'bob' })).status, 200, 'another subject has another count')

  const line = await until('the line', async () =>
    log().find((one) => one['request_id'] === rejected.headers.get('x-request-id')),
  )
  t.match(line, { 'error.type': 'rate_limited', 'rate_limit.rejected_by': 'api' })
  const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /scopegate_rate_limit_rejections_total\{route="test\/two",limit="api"\} 1\n/)
  t.match(metrics, /scopegate_rate_limit_total\{route="test\/two",outcome="limited"\} 1\n/)
})

t.test('a limit by a claim counts each value, and falls back to the address', async (t) => {
  const { ask } = await start(t)
  const statuses = async (
    all: readonly (readonly [claims: Record<string, unknown> | undefined, from?: string])[],
  ) => {
    const found: number[] = []
    for (const [claims, from] of all) found.push((await ask('/tenants', claims, from)).status)
    return found
  }
  const of = (tenant: unknown, sub = 'alice') => ({ sub, tenant })
  t.strictSame(
    await statuses([[of('a', 'alice')], [of('a', 'bob')], [of('a', 'carol'), '203.0.113.9'], [of('b')]]),
    [200, 200, 429, 200],
    'subjects and addresses do not matter',
  )
  t.strictSame(
    await statuses([[undefined], [of(['a', 'b'])], [of(['c'])], [of({ a: 1 })], [of(undefined)], [of(null)]]),
    [200, 200, 429, 429, 429, 429],
    'no token, a list, a map and a missing claim share the count of the address',
  )
  t.strictSame(await statuses([[undefined, '203.0.113.2'], [of('x'.repeat(1_024))]]), [200, 200])
})

t.test('a plan determines the limit, and the default applies to every other value', async (t) => {
  const { ask } = await start(t)
  const policyOf = async (client_id: string, plan?: unknown) =>
    (await ask('/apps', { client_id, plan })).headers.get('ratelimit-policy')
  t.equal(await policyOf('a', 'free'), '"apps";q=1;w=3600')
  t.equal(await policyOf('b', 'pro'), '"apps";q=3;w=3600')
  for (const plan of [undefined, 'gold', ['pro'], ['pro', 'free'], { pro: 1 }, true, '', '__proto__'])
    t.equal(await policyOf(`c${String(plan)}`, plan), '"apps";q=2;w=3600', JSON.stringify(plan))
  t.equal((await ask('/apps')).headers.get('ratelimit-policy'), '"apps";q=2;w=3600')
  t.equal((await ask('/apps', { client_id: 'a', plan: 'free' })).status, 429)
  t.equal((await ask('/apps', { client_id: 'a', plan: 'pro' })).status, 200, 'another plan, another count')
})

t.test('several limits apply together, and the fields describe the limit nearest to its end', async (t) => {
  const { ask, gateway } = await start(t)
  const policyOf = (answer: Awaited<ReturnType<typeof ask>>) => answer.headers.get('ratelimit-policy')
  t.equal(policyOf(await ask('/both', { sub: 'alice' })), '"default";q=2;w=3600', 'one left, two of api')
  t.equal((await ask('/one', { sub: 'alice' })).status, 200)
  t.equal((await ask('/one', { sub: 'alice' })).status, 200)
  const rejected = await ask('/both', { sub: 'alice' })
  t.equal(rejected.status, 429)
  t.equal(policyOf(rejected), '"api";q=3;w=3600')
  const second = await ask('/both', { sub: 'bob' })
  t.equal(second.status, 200, 'the rejected request did not count against the limit of the route')
  t.equal(policyOf(second), '"default";q=2;w=3600')
  const third = await ask('/both', { sub: 'carol' })
  t.equal(third.status, 429)
  t.equal(third.headers.get('retry-after'), '1800')
  const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /scopegate_rate_limit_rejections_total\{route="test\/both",limit="default"\} 1\n/)
  t.equal((await ask('/plain')).headers.get('ratelimit'), null, 'an empty list removes the default')
})

t.test('the proxy and the decision endpoint count together', async (t) => {
  const { ask, log, issuer } = await start(t, (config) => ({
    ...config,
    decisions: { listen: { host: '127.0.0.1', port: 0 }, protocol: 'forward-auth' },
  }))
  const decisions = String(log().find(({ event }) => event === 'serving_decisions')?.['url'])
  issuer.store('alice', { sub: 'alice', client_id: 'app', scope: 'openid' })
  const decide = (path: string) =>
    send(decisions, {
      token: 'alice',
      headers: {
        'x-forwarded-method': 'GET',
        'x-forwarded-uri': path,
        'x-forwarded-host': 'api.test',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '203.0.113.1',
      },
    })
  t.equal((await ask('/one', { sub: 'alice' })).status, 200)
  t.equal((await decide('/one')).status, 200)
  t.equal((await decide('/two')).status, 200)
  const denied = await decide('/two')
  t.equal(denied.status, 429)
  t.match(denied.headers.get('ratelimit'), /^"api";r=0;t=\d+$/)
  t.equal((await ask('/one', { sub: 'alice' })).status, 429)
})

t.test('the Fastify plugin enforces a limit of several routes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-limits-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const presets = join(folder, 'presets.yaml')
  writeFileSync(presets, LIMITS)
  const { url, issuer } = await startFastifyService(t, {
    policy: POLICY,
    settings: { presets },
    routes: (app) => app.get('/one', async () => 'one').get('/two', async () => 'two'),
  })
  issuer.store('alice', { sub: 'alice', client_id: 'app', scope: 'openid' })
  const statuses: number[] = []
  for (const path of ['/one', '/two', '/one', '/two'])
    statuses.push((await send(url + path, { token: 'alice' })).status)
  t.strictSame(statuses, [200, 200, 200, 429])
})

t.test('gateways with one Redis count together, and each counts alone while Redis is stopped', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-limits-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const redis = await startRedis({ folder })
  let isRunning = true
  t.teardown(() => (isRunning ? redis.stop() : undefined))
  const change = (config: GatewayConfig) => ({ ...config, redis: { url: redis.url } })
  const [one, two] = [await start(t, change), await start(t, change)]
  const fallbacks = async () => {
    const texts = [one, two].map(async ({ gateway }) =>
      (await fetch(`${gateway.managementUrl}/metrics`)).text(),
    )
    const sums = (await Promise.all(texts)).map((text) =>
      sumSamples(text, 'scopegate_rate_limit_fallback_total'),
    )
    return sums.reduce((sum, value) => sum + value, 0)
  }
  let tried = 0
  // Repeats with another subject and address, because a gateway counts alone when Redis does not respond in time.
  const answers = await until('Redis counted all requests', async () => {
    tried += 1
    const before = await fallbacks()
    const found = []
    for (const [under, path] of [
      [one, '/one'],
      [two, '/two'],
      [one, '/both'],
      [two, '/both'],
      [one, '/one'],
    ] as const)
      found.push(await under.ask(path, { sub: `alice-${tried}` }, `203.0.113.${tried}`))
    return (await fallbacks()) === before && found
  })
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200, 429, 429],
  )
  t.equal(answers[3]?.headers.get('ratelimit-policy'), '"api";q=3;w=3600')

  await redis.stop()
  isRunning = false
  for (const under of [one, two]) {
    const statuses: number[] = []
    for (const path of ['/one', '/two', '/one', '/two'])
      statuses.push((await under.ask(path, { sub: 'bob' })).status)
    t.strictSame(statuses, [200, 200, 200, 429], 'the full limit for each gateway')
  }
})

t.test('GET /policies shows the limits of a route, and a reload changes them', async (t) => {
  const { ask, gateway, presetsFile } = await start(t)
  const shown = async () => {
    const { json } = await send(`${gateway.managementUrl}/policies`)
    const routes = json['routes'] as readonly { readonly name: string; readonly sharedLimits?: unknown }[]
    return routes.find(({ name }) => name === 'test/one')?.sharedLimits
  }
  t.strictSame(await shown(), [{ name: 'api', requests: 3, perMs: 3_600_000, key: 'subject' }])
  t.equal((await ask('/one', { sub: 'alice' })).headers.get('ratelimit-policy'), '"api";q=3;w=3600')
  writeFileSync(presetsFile, LIMITS.replace('api: { requests: 3', 'api: { requests: 7'))
  t.match(await gateway.reload('signal'), { result: 'applied' })
  t.match(await shown(), [{ name: 'api', requests: 7 }])
  t.equal((await ask('/two', { sub: 'alice' })).headers.get('ratelimit-policy'), '"api";q=7;w=3600')
  writeFileSync(presetsFile, LIMITS.replace('api:', 'apis:'))
  t.match(await gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'P207' }] })
  t.match((await ask('/two', { sub: 'alice' })).headers.get('ratelimit'), /^"api";r=5;/)
})

t.test('hostile values of claims cannot fill the memory', async (t) => {
  const { limit } = compileSharedLimit({
    name: 'api',
    requests: 5,
    perMs: 1_000,
    key: 'claim',
    claim: 'tenant',
  })
  const limiter = new LocalLimiter({ maxEntries: 50 })
  let longest = 0
  for (let count = 0; count < 500; count += 1) {
    const claims = new Map([['tenant', `${count}${'x'.repeat(1_000)}`]])
    const key = rateLimitKey(limit, aCaller({ claims }), '203.0.113.1')
    longest = Math.max(longest, key.length)
    limiter.take(limit, key, 0)
  }
  t.equal(limiter.size, 50)
  t.ok(longest < 100, `${longest} characters`)
})
