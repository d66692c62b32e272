import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { captureLog, recordCredential } from '../fixtures/capture.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { COMMAND } from '../fixtures/run-command.ts'
import { plainEnvironment, spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

// These tests run commands of guides that need no product. Other tests follow a complete guide.
const ROOT = findPackageRoot()
const SECRET = 'secret-of-the-guide'

const bash = (script: string, cwd: string, env: Readonly<Record<string, string>> = {}): string =>
  execFileSync('bash', ['-euc', script], { cwd, encoding: 'utf8', env: { ...plainEnvironment(), ...env } })

t.test('install.md installs both services with plain Node.js', async (t) => {
  const folder = t.testdir({ opt: { node_modules: {} }, etc: {} })
  symlinkSync(ROOT, join(folder, 'opt/node_modules/scopegate'))
  const local = (block: string) =>
    block
      .replaceAll('/opt/scopegate-0.1.0', join(folder, 'opt'))
      .replaceAll('/etc/scopegate', join(folder, 'etc/scopegate'))
  bash(local(documentedBlock('docs/install.md', 'mkdir -p /etc/scopegate')), folder)
  bash(local(documentedBlock('docs/install.md', 'openssl rand')), folder)
  recordCredential(
    readFileSync(join(folder, 'etc/scopegate/.scopegate/gateway-client-secret'), 'utf8').trim(),
  )
  const start = documentedBlock('docs/install.md', 'scopegate authorization-server --config')
  const started = local(start).trim().split('\n')
  t.equal(started.length, 2)
  for (const command of started) {
    const [, ...args] = command.split(' ')
    const env = { SCOPEGATE_LISTEN__PORT: '0', SCOPEGATE_MANAGEMENT__PORT: '0' }
    const child = spawnPlainly(process.execPath, [COMMAND, ...args], { env, cwd: folder })
    const capture = captureLog(String(args[0]))
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        capture(text)
      })
    t.teardown(() => child.kill('SIGKILL'))
    await until(`${command} listens`, async () => {
      if (child.exitCode !== null) throw new Error(output)
      return output.includes('"event":"listening"')
    })
    t.pass(command)
  }
})

t.test('the guides write secrets and keys that the services can read', async (t) => {
  const folder = t.testdir({ etc: {} })
  const write = documentedBlock('docs/authenticate-at-upstreams.md', '$API_KEY')
  bash(write.replace('/etc/scopegate/upstreams', 'etc'), folder, { API_KEY: SECRET })
  t.equal(readFileSync(join(folder, 'etc/billing-key'), 'utf8'), SECRET)
  const keys = documentedBlock('docs/authenticate-at-upstreams.md', 'openssl genpkey')
  t.match(bash(keys, folder), /^-----BEGIN PUBLIC KEY-----/)
  bash(documentedBlock('docs/sign-in-with-a-provider.md', '$CLIENT_SECRET'), folder, {
    CLIENT_SECRET: SECRET,
  })
  t.equal(readFileSync(join(folder, 'config/secrets/company'), 'utf8'), `${SECRET}\n`)
})

t.test('sign-in-with-a-provider.md reads the issuer from the metadata', async (t) => {
  const issuer = await startJwtIssuer({ path: '/realms/main', metadata: 'openid' })
  t.teardown(() => issuer.close())
  const command = documentedBlock('docs/sign-in-with-a-provider.md', 'jq -r .issuer')
  const script = command.replace('https://login.example.com', new URL(issuer.issuer).origin)
  const { stdout } = await promisify(execFile)('bash', ['-euc', script])
  t.equal(stdout.trim(), issuer.issuer)
})

t.test('the commands of policy-sources.md check one source', async (t) => {
  const folder = t.testdir({ policies: { courses: {}, billing: {} } })
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  cpSync(join(ROOT, 'policies/courses.policy.yaml'), join(folder, 'policies/courses/courses.policy.yaml'))
  const gateway = join(folder, 'config/gateway.yaml')
  const change = (to: string) =>
    writeFileSync(
      gateway,
      readFileSync(gateway, 'utf8').replace(/^policies: .*$/m, () => to),
    )
  const sources = documentedBlock('docs/policy-sources.md', 'policySources:')
  // A source with its own upstreams needs permissions for their addresses.
  const permissions = documentedBlock('docs/policy-sources.md', 'addresses: ["http://billing')
  const own = sources.replace(
    /( +)permissions:\n +pathPrefixes: \[\/api\/billing\]\n[\s\S]*$/,
    () => permissions,
  )
  t.not(own, sources)
  change(own)
  for (const block of [
    documentedBlock('docs/policy-sources.md', '# policies/billing/upstreams.yaml'),
    documentedBlock('docs/policy-sources.md', '# policies/billing/scopes.yaml'),
  ])
    writeFileSync(join(folder, block.split('\n')[0]?.slice(2) ?? ''), block)
  writeFileSync(
    join(folder, 'policies/billing/billing.policy.yaml'),
    `apiVersion: scopegate/v1
kind: Policy
name: billing
upstream: invoices
routes:
  - name: read-invoice
    match: { methods: [GET], path: "/api/billing/{id}" }
    anonymous: challenge
    scopes: { all: ["billing:read"] }
`,
  )
  for (const command of documentedBlock('docs/policy-sources.md', 'scopegate check').trim().split('\n')) {
    const terminal = aTerminal({ folder })
    const code = await main(command.split(' ').slice(1), terminal)
    t.ok(code === 0 || code === 1, `${command}: ${code}\n${terminal.said.out}${terminal.said.err}`)
    t.match(terminal.said.out, /billing|^ok: /, command)
  }
})

t.test('openapi.md imports the operation with x-scopegate', async (t) => {
  const paths = parse(documentedBlock('docs/openapi.md', 'x-scopegate: { match'))
  for (const operation of Object.values(paths as Record<string, { get: Record<string, unknown> }>))
    operation.get['responses'] = { 200: { description: 'a file' } }
  const document = { openapi: '3.1.0', info: { title: 'Files', version: '1' }, paths }
  const folder = t.testdir({ 'openapi.json': JSON.stringify(document) })
  mkdirSync(join(folder, 'policies'))
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  const terminal = aTerminal({ folder })
  const args = ['import', join(folder, 'openapi.json'), '--upstream', 'learning-platform']
  t.equal(await main([...args, '--config', join(folder, 'config')], terminal), 0, terminal.said.err)
  t.match(terminal.said.out, /path: \/files\/\{file\}|path: "\/files\/\{file\}"/)
  t.match(terminal.said.out, 'timeout: 30s')
})

t.test('the settings of run-without-local-accounts.md pass scopegate check', async (t) => {
  const folder = t.testdir({})
  for (const name of ['config', 'policies']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const file = join(folder, 'config/authorization-server.yaml')
  const settings = parse(documentedBlock('docs/run-without-local-accounts.md', 'local: false'))
  writeFileSync(file, stringify({ ...parse(readFileSync(file, 'utf8')), ...settings }))
  const terminal = aTerminal({ folder, env: { SCOPEGATE_CONFIG_DIR: join(folder, 'config') } })
  const [, ...args] = documentedBlock('docs/run-without-local-accounts.md', 'scopegate check')
    .trim()
    .split(' ')
  t.equal(await main(args, terminal), 0, terminal.said.out)
})

t.test('rotate-keys-and-secrets.md replaces the password of an ACL user of Redis', async (t) => {
  const folder = t.testdir({ bin: {}, redis: {}, 'redis-password': 'first-password' })
  const redis = await startRedis({ folder: join(folder, 'redis') })
  t.teardown(() => redis.stop())
  const client = bash('command -v redis-cli', folder).trim()
  writeFileSync(join(folder, 'bin/redis-cli'), `#!/bin/sh\nexec ${client} -p ${redis.port} "$@"\n`, {
    mode: 0o755,
  })
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    OLD_PASSWORD: 'first-password',
    NEW_PASSWORD: SECRET,
  }
  const run = promisify(execFile)
  const rotate = documentedBlock('docs/rotate-keys-and-secrets.md', 'redis-cli ACL SETUSER')
  const script = `redis-cli ACL SETUSER scopegate on ">$OLD_PASSWORD" +ping\n${rotate}
for password in "$OLD_PASSWORD" "$NEW_PASSWORD"; do redis-cli AUTH scopegate "$password" || true; done`
  const { stdout } = await run('bash', ['-euc', script], {
    cwd: folder,
    env: { ...plainEnvironment(), ...env },
  })
  t.match(stdout, /^OK\nOK\nOK\nWRONGPASS [^\n]*\n+OK\n$/)
  t.equal(readFileSync(join(folder, 'redis-password'), 'utf8'), SECRET)
})
