import t from 'tap'
import type { ConsoleSource } from '../../../gateway/console/console-source.ts'
import { openConsole } from '../../../gateway/console/open-console.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

t.test('the routes stay visible while no worker can reply', async (t) => {
  const policies = { active: { hash: 'first' }, states: [], failure: undefined }
  let described: string | undefined = JSON.stringify({
    hash: 'first',
    routes: [aPolicyRoute({ path: '/b' }), aPolicyRoute({ path: '/a' })],
    unavailable: [],
    implication: {},
  })
  const console = openConsole({
    config: { name: 'API', management: { host: '127.0.0.1', port: 0 } },
    version: '0',
    logger: SILENT_LOGGER,
    sample: async () => [],
    checks: async () => [],
    describe: async () => described,
    policies,
    decisions: { testSummary: async () => undefined },
  } as unknown as ConsoleSource)
  t.teardown(() => console?.close())
  const endpoint = console?.endpoints.find(({ path }) => path === '/console/routes')
  const list = () =>
    endpoint?.respond({
      body: undefined,
      clientAddress: '127.0.0.1',
      method: 'GET',
      query: new URLSearchParams('format=json'),
      headers: { host: 'localhost' },
    } as Parameters<typeof endpoint.respond>[0])
  t.match(await list(), { status: 200, body: { total: 2, routes: [{ path: '/a' }, { path: '/b' }] } })
  policies.active = { hash: 'second' }
  described = undefined
  t.match(await list(), { status: 200, body: { total: 2, hash: 'first' } })
})
