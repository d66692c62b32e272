import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../../../cli/main.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { startServer } from '../../../fixtures/start-authorization-server.ts'
import { startScopegate } from '../../../fixtures/start-scopegate.ts'

async function run(...args: string[]) {
  const terminal = aTerminal()
  return { code: await main(['token', ...args], terminal), ...terminal.said }
}

t.test('token fails for a server that is remote, unreachable or not a development server', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  writeFileSync(join(dataDir, 'gateway-client-secret'), 'a-secret-of-this-test-alone')
  const production = await startServer(t, { development: false, dataDir })
  const rejected = await run('--scope', 'courses:read', '--url', production.baseUrl)
  t.same(rejected, {
    code: 1,
    out: '',
    err: 'scopegate token: the authorization server returned no token: the server rejects the sign-in of alice: it is not a development server, or it limits sign-in attempts\n',
  })
  for (const url of [
    'https://api.example.com',
    'http://192.168.1.4:8080',
    'http://127.0.0.1.example.com',
    'nowhere',
  ])
    t.match(await run('--scope', 'courses:read', '--url', url), {
      code: 1,
      out: '',
      err: /is not an address of this machine/,
    })
  t.match(await run('--scope', 'courses:read', '--url', 'http://127.0.0.1:9'), {
    code: 1,
    out: '',
    err: /does not respond\. Start the server first/,
  })

  const other = createServer((_, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"issuer":"https://login.example.com"}')
  }).listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await new Promise((resolve) => other.on('listening', resolve))
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  t.match(await run('--scope', 'courses:read', '--url', url), {
    code: 1,
    out: '',
    err: /its issuer is https:\/\/login\.example\.com/,
  })
})

t.test(
  'token prints a token of the development server with the requested scopes, which the gateway accepts',
  async (t) => {
    const product = await startScopegate(t)
    const url = ['--url', product.baseUrl]
    t.match(await run(...url), { code: 2, err: /name the scopes/ })
    t.match(await run('--scope', 'courses:read', '--sub', 'root', ...url), {
      code: 2,
      err: /--sub is one of alice, bob/,
    })
    t.match(await run('--scope', 'no:such', ...url), { code: 1, out: '', err: /scope/ })

    const { code, out } = await run('--scope', 'openid courses:read', '--sub', 'bob', '--json', ...url)
    t.equal(code, 0)
    const issued = JSON.parse(out)
    product.secret(issued.access_token)
    t.match(issued, { token_type: 'Bearer', expires_in: 900, scope: 'openid courses:read' })
    const authorization = `Bearer ${issued.access_token}`
    const ask = (path: string, method = 'GET') =>
      fetch(`${product.baseUrl}${path}`, { method, headers: { authorization } })
    t.equal((await ask('/api/courses')).status, 200)
    t.equal((await ask('/api/courses/1', 'DELETE')).status, 403)
    t.match(await (await ask('/api/oauth/userinfo')).json(), { sub: String })

    const writes = 'courses:write students:write members:write curriculum:write'
    const many = JSON.parse((await run('--scope', writes, '--json', ...url)).out)
    product.secret(many.access_token)
    t.equal(many.scope, writes, 'A3: also those that the consent page does not tick')
  },
)
