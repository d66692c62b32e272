import t from 'tap'
import { main } from '../../cli/main.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { send } from '../fixtures/send.ts'

const PATHS = ['/docs', '/docs/', '/docs/errors/invalid_token', '/llms.txt', '/', '/openapi.json', '/auth.md']
const PREFLIGHT = { origin: 'https://page.test', 'access-control-request-method': 'POST' }

async function explain(args: readonly string[]) {
  const terminal = aTerminal()
  const code = await main(['explain', ...args], terminal)
  return { code, out: terminal.said.out }
}

t.test('explain and the console predict the response to each method of a document', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  for (const path of PATHS)
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await send(gateway.url + path, { method })
      const isRejected = method === 'POST' || method === 'DELETE'
      t.equal(status === 405, isRejected, `${method} ${path}: ${status}`)
      const allow = headers.get('allow')
      const expected = isRejected
        ? { code: 1, out: `405 method_not_allowed\n  This path allows only ${allow}` }
        : { code: 0, out: 'local reply of the gateway' }
      for (const source of method === 'POST' ? [[], ['--url', gateway.managementUrl]] : [[]]) {
        const explained = await explain([method, path, ...source])
        t.match(explained, expected, `${method} ${path} ${source}`)
        t.equal(/^ {2}Allow: (.+)$/m.exec(explained.out)?.[1], isRejected ? allow : undefined)
      }
      const console = `${gateway.managementUrl}/console/explain?method=${method}&path=${path}`
      const { json } = await send(`${console}&format=json`)
      const answer = isRejected ? { status: 405, allow: allow?.split(', ') } : null
      t.match(json, { result: { explanation: { answer } } }, `${method} ${path}, console`)
      t.equal((await send(console)).text.includes(`Allow: ${allow}`), isRejected, `${method} ${path}, page`)
    }
})

t.test('explain predicts the response to a preflight for a document', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const headers = Object.entries(PREFLIGHT).flatMap(([name, value]) => ['--header', `${name}=${value}`])
  for (const path of ['/docs', '/auth.md']) {
    const response = await send(gateway.url + path, { method: 'OPTIONS', headers: PREFLIGHT })
    t.equal(response.status, 204)
    for (const source of [[], ['--url', gateway.managementUrl]]) {
      const { out } = await explain(['OPTIONS', path, ...headers, ...source])
      t.match(out, 'a browser does not send POST', `${path} ${source}`)
    }
    t.notMatch(response.headers.get('access-control-allow-methods') ?? '', 'POST', path)
  }
})
