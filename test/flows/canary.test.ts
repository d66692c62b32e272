import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startLearningPlatform } from '../../examples/learning-platform/app.ts'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { readAlerts } from '../fixtures/alert-rules.ts'
import { captureLog, recordCredential } from '../fixtures/capture.ts'
import { findMetricUses } from '../fixtures/metric-uses.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { makeSecret } from '../fixtures/rotating-services.ts'
import { COMMAND, runCommand } from '../fixtures/run-command.ts'
import { scrape } from '../fixtures/scrape.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { startService } from '../fixtures/start-service.ts'
import { until } from '../fixtures/until.ts'

const folder = t.testdir({
  demo: {},
  // The shipped policies let anonymous callers read.
  policies: { 'probe.policy.yaml': documentedBlock('docs/canary.md', 'kind: Policy') },
})
const secretFile = join(folder, 'gateway-client-secret')
const canaryFile = join(folder, 'canary-secret')
for (const file of [secretFile, canaryFile]) {
  const secret = makeSecret()
  writeFileSync(file, secret, { mode: 0o600 })
  recordCredential(secret)
}
const port = await quietPort()
const baseUrl = `http://127.0.0.1:${port}`
const demo = await startLearningPlatform({
  host: '127.0.0.1',
  port: 0,
  databasePath: join(folder, 'demo', 'learning-platform.sqlite'),
})
t.teardown(() => demo.close())
const server = await startService(t, 'authorization-server', {
  SCOPEGATE_ISSUER: baseUrl,
  SCOPEGATE_DATA_DIR: folder,
  SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: secretFile,
  SCOPEGATE_CANARY__CLIENT_SECRET_FILE: canaryFile,
  SCOPEGATE_CANARY__SCOPES: 'courses:read',
})
const settings = {
  SCOPEGATE_POLICIES: join(folder, 'policies'),
  SCOPEGATE_BASE_URL: baseUrl,
  SCOPEGATE_ISSUERS__0__ISSUER: baseUrl,
  SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: server.url + ENDPOINTS.introspection,
  SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
  SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: demo.url,
  SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: server.url,
}
const revocations = { SCOPEGATE_ISSUERS__0__REVOCATIONS: server.url + REVOCATION_STREAM_PATH }
const [first, second, deaf] = await Promise.all([
  startService(t, 'gateway', { ...settings, ...revocations, PORT: String(port) }),
  startService(t, 'gateway', { ...settings, ...revocations }),
  startService(t, 'gateway', settings),
])
const canary = (gateways: readonly string[], ...others: readonly string[]): readonly string[] => [
  ...['canary', '--issuer', baseUrl, '--secret-file', canaryFile, '--path', '/api/probe?limit=1'],
  ...gateways.flatMap((url) => ['--gateway', url]),
  ...others,
]

t.test('the canary measures two gateways with tokens of the bundled server', async (t) => {
  const args = canary([first.url, second.url], '--interval', '1', '--management-port', '0')
  const child = spawnPlainly(process.execPath, [COMMAND, ...args])
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const capture = captureLog('canary')
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text
      capture(text)
    })
  const url = await until('it listens', async () => /"management_url":"([^"]+)"/.exec(log)?.[1])
  const metrics = await until('two runs are successful', async () => {
    const { text } = await scrape(url)
    return text.includes('scopegate_canary_runs_total{result="ok",stage="-"} 2') ? text : undefined
  })
  t.match(metrics, 'scopegate_canary_revocation_seconds_count 4', 'two gateways in two runs')
  for (const { alert, expr } of readAlerts('helm/alerts/canary.yaml'))
    for (const { name } of findMetricUses(expr)) t.match(metrics, `\n${name}`, `${alert} has its metric`)
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.same(
    lines.filter(({ event }) => event === 'canary_failed'),
    [],
  )
  for (const gateway of [first.url, second.url])
    t.ok(
      lines.some((line) => line['event'] === 'canary_revocation' && line['gateway'] === gateway),
      `the log contains the time of ${gateway}`,
    )
  const audits = server
    .log()
    .split('\n')
    .filter((line) => line.includes('"event":"audit"'))
  for (const action of ['token_issued', 'token_revoked'])
    t.ok(
      audits.some((line) => line.includes(`"action":"${action}"`) && line.includes('"client_id":"canary"')),
      `${action} is in the audit log`,
    )
})

t.test('the canary detects a gateway that receives no revocations', async (t) => {
  const { code, output } = await runCommand(
    canary([second.url, deaf.url], '--once', '--deadline', '1'),
    {},
    '',
  )
  t.equal(code, 1)
  t.match(output, new RegExp(`${second.url} +\\d\\.\\d+ +rejects the revoked token`))
  t.match(output, new RegExp(`${deaf.url} +- +accepts the revoked token`))
  t.match(output, `stage reject: no 401 within 1 s from ${deaf.url}. Check the revocation stream`)
})

t.test('the command of docs/canary.md measures both gateways', async (t) => {
  const command = documentedBlock('docs/canary.md', 'scopegate canary --once')
    .replace('https://login.example.com', baseUrl)
    .replace('http://10.0.0.11:8080', first.url)
    .replace('http://10.0.0.12:8080', second.url)
    .replace('--secret-file canary-secret', `--secret-file ${canaryFile}`)
  const [, ...args] = command.replaceAll('\\\n', '').trim().split(/ +/)
  const { code, output } = await runCommand(args)
  t.equal(code, 0, output)
  for (const { url } of [first, second])
    t.match(output, new RegExp(`${url} +\\d\\.\\d+ +rejects the revoked token`))
})
