import t, { type Test } from 'tap'
import { openGateway } from '../../../../gateway/app.ts'
import { readGatewayConfig } from '../../../../gateway/config/read-gateway-config.ts'
import type { GatewayOptions } from '../../../../gateway/gateway-options.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { aPluginConfig } from '../../../fixtures/a-fastify-service.ts'
import { POLICY } from '../../../fixtures/a-gateway.ts'

const TESTS = `tests:
  - it: reads the list
    request: { method: GET, path: /api/courses }
    token: { scope: "courses:read" }
    expect: { decision: allow }
`
const ISSUER = {
  endpoint: 'http://127.0.0.1:1',
  clientId: 'gateway',
  clientSecret: 'a-secret-of-a-test-with-32-bytes',
  revocations: 'http://127.0.0.1:1',
}

/** Returns the number of tests in memory, after the start and after a reload. */
async function countTests(
  t: Test,
  management: object,
  handOver?: GatewayOptions['handOver'],
): Promise<readonly [number, number]> {
  const configDir = aPluginConfig(t, {
    issuer: ISSUER,
    policy: POLICY + TESTS,
    settings: { listen: { host: '127.0.0.1', port: 0 }, management },
  })
  const { config } = readGatewayConfig({ configDir, env: {} })
  const logger = createLogger({ ...config.log, service: 'test' }, { write: () => undefined })
  const { serving, reloader, auditLog, stopReloading } = await openGateway({ config, logger, handOver })
  t.teardown(async () => {
    stopReloading()
    await serving.close({ how: 'immediate' })
    await auditLog.close()
  })
  const count = () => serving.policies.active().tests.length
  const first = count()
  // Other contents with the same meaning, so that the gateway checks the policies again.
  const sources = { ...reloader.active, hash: 'other' }
  t.match(await serving.policies.apply(sources), { result: 'applied' })
  return [first, count()]
}

t.test('the gateway keeps the tests of its policies only for the console', async (t) => {
  t.same(await countTests(t, {}), [1, 1])
  t.same(await countTests(t, { console: false }), [0, 0])
  t.same(await countTests(t, {}, () => undefined), [0, 0], 'the Fastify plugin has no console')
})
