import t from 'tap'
import { startAll } from '../../../../cli/commands/dev/start-all.ts'
import type { Child } from '../../../../cli/commands/dev/start-child.ts'

const MANAGEMENT: Readonly<Record<string, string>> = { 'authorization server': 'http://127.0.0.1:4001' }

/** Starts no program. Returns the address of the other console that each program gets. */
async function linkedConsoles(managementPort: string) {
  const before = process.env['SCOPEGATE_MANAGEMENT__PORT']
  process.env['SCOPEGATE_MANAGEMENT__PORT'] = managementPort
  t.teardown(() => {
    if (before === undefined) delete process.env['SCOPEGATE_MANAGEMENT__PORT']
    else process.env['SCOPEGATE_MANAGEMENT__PORT'] = before
  })
  const links: Record<string, string | undefined> = {}
  await startAll({
    start(name, _module, env) {
      links[name] = env['SCOPEGATE_MANAGEMENT__LINKED_CONSOLE']
      const ready = Promise.resolve({ url: 'http://127.0.0.1:4000', managementUrl: MANAGEMENT[name] })
      return { name, ready, ended: Promise.resolve(0), stop: () => undefined } satisfies Child
    },
    port: 8080,
    baseUrl: 'http://127.0.0.1:8080',
    dataDir: '/data',
    policiesDir: undefined,
    secretFile: '/data/secret',
  })
  return links
}

t.test('each service gets the address of the console of the other service', async (t) => {
  t.strictSame(await linkedConsoles('9191'), {
    'authorization server': 'http://127.0.0.1:9191',
    'demo API': undefined,
    gateway: 'http://127.0.0.1:4001',
  })
})

t.test(
  'the authorization server gets no address if the system selects the port of the gateway',
  async (t) => {
    t.match(await linkedConsoles('0'), {
      'authorization server': undefined,
      gateway: 'http://127.0.0.1:4001',
    })
  },
)
