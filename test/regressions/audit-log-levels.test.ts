// Before the fix, both services wrote audit lines only if `log.level` was `info` or a more detailed level.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

t.test('the gateway writes audit lines, and no other line, with the log level silent', async (t) => {
  let folder = ''
  const under = await startGatewayUnderTest(t, {
    change(config) {
      folder = config.policiesDir
      return { ...config, log: { ...config.log, level: 'silent' } }
    },
  })
  writeFileSync(join(folder, 'test.policy.yaml'), POLICY.replace('anonymous: allow', 'anonymous: deny'))
  t.equal((await send(`${under.gateway.managementUrl}/reload`, { method: 'POST' })).status, 200)
  t.match(under.log(), [{ level: 'info', event: 'audit', action: 'policies_changed', asked_by: 'endpoint' }])
  t.equal(under.log().length, 1)
})

t.test('the authorization server writes audit lines with the log level error', async (t) => {
  const server = await startServer(t, { log: { level: 'error', auditFile: undefined, format: 'default' } })
  await send(`${server.baseUrl}/.well-known/oauth-authorization-server`)
  t.match(server.log(), [
    { level: 'info', event: 'audit', action: 'account_added', username: 'alice' },
    { level: 'info', event: 'audit', action: 'account_added', username: 'bob' },
  ])
  t.equal(server.log().length, 2)
})
