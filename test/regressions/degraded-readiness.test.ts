import t, { type Test } from 'tap'
import { type GatewayUnderTest, pushing, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { send } from '../fixtures/send.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

/** Waits until `/readyz?verbose` returns this text. The gateway must be ready during the wait. */
async function expectReadiness(t: Test, under: GatewayUnderTest, expected: readonly (string | RegExp)[]) {
  const matches = (line: string, index: number): boolean => {
    const one = expected[index]
    return one instanceof RegExp ? one.test(line) : one === line
  }
  let lines: readonly string[] = []
  await until(`readiness: ${expected.join(', ')}`, async () => {
    const ready = await send(`${under.gateway.managementUrl}/readyz?verbose`)
    t.equal(ready.status, 200)
    lines = ready.text.trimEnd().split('\n')
    return lines.length === expected.length && lines.every(matches)
  }).catch((error: Error) => t.fail(error.message, { found: lines }))
}

// Before the fix, all checks passed although the response to every token was 503.
t.test('a check names an issuer that does not respond, and the gateway is ready', async (t) => {
  const under = await startGatewayUnderTest(t)
  const token = under.issuer.store('good', { scope: 'courses:read' })
  const call = async (name: string) =>
    (await send(`${under.gateway.url}/api/courses`, { token: name })).status
  const well = [
    /^\[\+\] policies: /,
    '[+] introspection at http://api.test',
    '[+] accepting',
    '[+] event_loop',
    'ok',
  ]
  await expectReadiness(t, under, well)

  under.issuer.answerWith((response) => response.writeHead(500).end())
  t.equal(await call('unknown'), 503)
  await expectReadiness(t, under, [
    /^\[\+\] policies: /,
    '[!] introspection at http://api.test: The issuer responded with status 500.',
    '[+] accepting',
    '[+] event_loop',
    'ok (degraded)',
  ])

  under.issuer.answerWith((response) => response.writeHead(400).end('{"error":"unsupported_token_type"}'))
  t.equal(await call('odd'), 401)
  await expectReadiness(t, under, well)

  under.issuer.answerWith((response) => response.socket?.destroy())
  for (let count = 0; count < 8; count += 1) t.equal(await call(`unknown-${count}`), 503)
  await expectReadiness(t, under, [
    /^\[\+\] policies: /,
    '[!] introspection at http://api.test: The connection to the issuer failed.',
    '[+] accepting',
    '[+] event_loop',
    'ok (degraded)',
  ])
  under.issuer.answerWith(undefined)
  await until('the issuer is asked again', async () => (await call(token)) === 200)
  await expectReadiness(t, under, well)
})

t.test('a check names an issuer whose keys cannot be refreshed', async (t) => {
  const issuer = await startJwtIssuer()
  t.teardown(() => issuer.close())
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, issuers: [aJwtIssuerConfig(issuer.issuer, { refreshMs: 1_000 })] }),
  })
  const readiness = (keys: string | RegExp, summary: string) =>
    expectReadiness(t, under, [/^\[\+\] policies: /, keys, '[+] accepting', '[+] event_loop', summary])
  await readiness(`[+] keys of ${issuer.issuer}`, 'ok')
  await issuer.stop()
  await readiness(/^\[!\] keys of \S+: not fetched since \d{4}-\S+Z: The connection to /, 'ok (degraded)')
  await issuer.resume()
  await readiness(`[+] keys of ${issuer.issuer}`, 'ok')
})

t.test('a check names a disconnected revocation stream', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, issuers: config.issuers.map(pushing) }),
  })
  const readiness = (revocations: string, summary: string) =>
    expectReadiness(t, under, [
      /^\[\+\] policies: /,
      '[+] introspection at http://api.test',
      revocations,
      '[+] accepting',
      '[+] event_loop',
      summary,
    ])
  await readiness('[+] revocations of http://api.test', 'ok')
  under.issuer.rejectSubscribers(true)
  under.issuer.dropSubscribers()
  await readiness(
    '[!] revocations of http://api.test: not connected: revoked tokens are accepted until their cache entry expires',
    'ok (degraded)',
  )
  under.issuer.rejectSubscribers(false)
  await readiness('[+] revocations of http://api.test', 'ok')
})

t.test('a check names Redis when it is disconnected or frozen', async (t) => {
  const folder = t.testdir()
  const redis = await startRedis({ folder })
  let running = redis
  t.teardown(() => running.stop())
  const under = await startGatewayUnderTest(t, {
    policy: `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow }
routes:
  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 1000000, per: 1m, by: route } }
`,
    change: (config) => ({ ...config, redis: { url: redis.url } }),
  })
  const readiness = (shared: string | RegExp, revocations: string | RegExp, summary: string) =>
    expectReadiness(t, under, [
      /^\[\+\] policies: /,
      '[+] introspection at http://api.test',
      shared,
      ...(revocations === '' ? [] : [revocations]),
      '[+] accepting',
      '[+] event_loop',
      summary,
    ])
  // No issuer publishes revocations to this Redis.
  await readiness('[+] redis', '', 'ok')
  redis.freeze()
  for (let count = 0; count < 5; count += 1) await send(`${under.gateway.url}/limited`)
  await readiness(
    /^\[!\] redis: (?:Redis fails or does not respond in time|no connection)/,
    '',
    'ok (degraded)',
  )
  redis.thaw()
  await readiness('[+] redis', '', 'ok')
  await redis.stop()
  await readiness(/^\[!\] redis: no connection/, '', 'ok (degraded)')
  running = await startRedis({ folder, port: redis.port })
  await readiness('[+] redis', '', 'ok')
})
