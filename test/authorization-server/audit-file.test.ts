import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

t.test('the authorization server writes audit lines to log.auditFile instead of the log', async (t) => {
  const auditFile = join(t.testdir(), 'audit.log')
  const server = await startServer(t, { log: { level: 'info', auditFile, format: 'default' } })
  const { text } = await send(`${server.managementUrl}/metrics`)
  t.match(text, /^scopegate_audit_lines_failed_total 0$/m)
  await server.stop()
  const lines = readFileSync(auditFile, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
  t.match(lines, [
    { service: 'authorization-server', event: 'audit', action: 'account_added', username: 'alice' },
    { service: 'authorization-server', event: 'audit', action: 'account_added', username: 'bob' },
  ])
  t.notOk(server.log().some(({ event }) => event === 'audit'))
})
