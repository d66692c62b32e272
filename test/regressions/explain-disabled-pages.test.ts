import t from 'tap'
import { main } from '../../cli/main.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { send } from '../fixtures/send.ts'

const PATHS = ['/docs', '/docs/signed-in', '/docs/errors', '/docs/errors/insufficient_scope', '/llms.txt']
const REDIRECTED = ['/docs/', '/docs/errors/']
const DISABLED = { SCOPEGATE_DOCS__ENABLED: 'false' }

async function explain(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const terminal = aTerminal({ env })
  const code = await main(['explain', 'GET', ...args], terminal)
  return { code, out: terminal.said.out }
}

for (const enabled of [true, false])
  t.test(`docs.enabled: ${enabled}: explain predicts the status of each page of the gateway`, async (t) => {
    const { gateway } = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, docs: { ...config.docs, enabled } }),
    })
    for (const path of [...PATHS, ...REDIRECTED]) {
      const [status, out] = REDIRECTED.includes(path)
        ? [308, `the gateway redirects to ${path.slice(0, -1)} (docs`]
        : [200, 'the gateway serves a page here']
      const expected = enabled ? { code: 0, out } : { code: 1, out: 'none: no policy has this path' }
      t.equal((await send(gateway.url + path)).status, enabled ? status : 404, path)
      t.match(await explain([path], enabled ? {} : DISABLED), expected, `${path}, configuration`)
      t.match(await explain([path, '--url', gateway.managementUrl]), expected, `${path}, --url`)
      const { json } = await send(`${gateway.managementUrl}/console/explain?path=${path}&format=json`)
      const decision = enabled ? 'allow' : 'deny'
      t.match(json, { result: { explanation: { decision } } }, `${path}, console`)
    }
  })
