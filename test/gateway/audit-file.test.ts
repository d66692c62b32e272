import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const parse = (text: string): readonly Readonly<Record<string, unknown>>[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))

t.test('the gateway writes audit lines to log.auditFile instead of the log', async (t) => {
  const auditFile = join(t.testdir(), 'audit.log')
  let folder = ''
  const under = await startGatewayUnderTest(t, {
    change(config) {
      folder = config.policiesDir
      return { ...config, log: { ...config.log, auditFile } }
    },
  })
  writeFileSync(join(folder, 'test.policy.yaml'), POLICY.replace('anonymous: allow', 'anonymous: deny'))
  await send(`${under.gateway.managementUrl}/reload`, { method: 'POST' })
  const { text } = await send(`${under.gateway.managementUrl}/metrics`)
  t.match(text, /^scopegate_audit_lines_failed_total 0$/m)
  await under.gateway.close({ how: 'immediate' })
  t.match(parse(readFileSync(auditFile, 'utf8')), [
    { level: 'info', service: 'gateway', event: 'audit', action: 'policies_changed' },
  ])
  t.notOk(under.log().some(({ event }) => event === 'audit'))
})

t.test('a gateway with several workers writes audit lines to log.auditFile', async (t) => {
  const cleanup = createCleanup()
  const folder = join(t.testdir(), 'gateway')
  mkdirSync(folder)
  t.teardown(() => cleanup.run())
  const auditFile = join(folder, 'audit.log')
  const logFile = join(folder, 'log')
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: 'http://127.0.0.1:1',
    settings: { workers: 2, log: { auditFile: './audit.log' } },
    stdout: openSync(logFile, 'a'),
  })
  await send(`${gateway.managementUrl}/log-level`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{"level":"silent"}',
  })
  const { text } = await send(`${gateway.managementUrl}/metrics`)
  t.match(text, /^scopegate_audit_lines_failed_total 0$/m)
  const lines = await until('an audit line', async () => {
    const found = parse(readFileSync(auditFile, 'utf8'))
    return found.length > 0 && found
  })
  t.match(lines, [{ event: 'audit', action: 'log_level_changed', log_level: 'silent' }])
  t.notOk(parse(readFileSync(logFile, 'utf8')).some(({ event }) => event === 'audit'))
})

t.test('a gateway with the format ecs writes each line of all its processes in ECS', async (t) => {
  const cleanup = createCleanup()
  const folder = join(t.testdir(), 'gateway')
  mkdirSync(folder)
  t.teardown(() => cleanup.run())
  const logFile = join(folder, 'log')
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: 'http://127.0.0.1:1',
    settings: { workers: 2, log: { format: 'ecs' } },
    stdout: openSync(logFile, 'a'),
  })
  await send(`${gateway.url}/nothing?token=x`)
  const lines = () => parse(readFileSync(logFile, 'utf8').replace(/[^\n]*$/, ''))
  const access = await until('the access line', async () =>
    lines().find((line) => line['event.dataset'] === 'scopegate.access'),
  )
  t.match(access, {
    'event.action': 'access',
    'service.name': 'gateway',
    'http.request.method': 'GET',
    'http.response.status_code': 404,
    'url.path': '/nothing',
    'client.address': '127.0.0.1',
    'event.duration': Number,
  })
  t.ok(lines().every((line) => line['ecs.version'] === '8.11.0' && !('level' in line) && !('event' in line)))
  t.ok(lines().some((line) => line['event.action'] === 'listening'))
})
