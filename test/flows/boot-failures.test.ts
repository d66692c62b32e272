import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { runCommand } from '../fixtures/run-command.ts'
import { send } from '../fixtures/send.ts'
import { startService } from '../fixtures/start-service.ts'
import { until } from '../fixtures/until.ts'

// Each service must start completely or exit. Each message must tell the operator what to change.
t.jobs = 3 // each test starts its own programs in its own folders
/** Options of a test. Each test needs its own object, because tap writes to the object. */
const apart = () => ({ buffered: true })
const STACK = /^\s+at .*:\d+:\d+\)?$/m

t.test(
  'broken policies: the gateway does not start and names every problem with file, line and column',
  apart(),
  async (t) => {
    const { configDir, policiesDir } = copyConfiguration(t)
    edit(join(policiesDir, 'courses.policy.yaml'), (text) =>
      text.replace('courses:read', 'courses:raed').replace('name: create-course', 'nmae: create-course'),
    )
    edit(join(policiesDir, 'orders.policy.yaml'), (text) =>
      text.replace('methods: [GET]', 'methods: [FETCH]'),
    )
    writeFileSync(join(policiesDir, 'extra.policy.yaml'), 'apiVersion: scopegate/v1\nkind: [Policy\n')
    for (const [command, ...args] of [['gateway'], ['dev', '--data', join(configDir, 'data')]] as const) {
      const { code, output } = await runCommand(
        [command, ...args, '--config', configDir, ...policiesOf(command, policiesDir)],
        {
          PORT: String(await quietPort()),
          SCOPEGATE_MANAGEMENT__PORT: '0',
          ...secretFile(command, configDir),
        },
      )
      t.equal(code, 3, `${command}: ${output}`)
      t.match(output, /courses\.policy\.yaml:\d+:\d+/)
      t.match(output, 'courses:raed', 'the unknown scope')
      t.match(output, 'nmae', 'the unknown key')
      t.match(output, /orders\.policy\.yaml:\d+:\d+/)
      t.match(output, 'FETCH', 'the unknown method')
      t.match(output, /extra\.policy\.yaml:\d+:\d+/, 'the file that is not YAML')
      t.notMatch(output, STACK)
      t.notMatch(output, /\bcurl http/, 'the output does not report readiness')
    }
  },
)

t.test(
  'broken configuration: neither service starts, and each names every problem with its location',
  apart(),
  async (t) => {
    const { configDir } = copyConfiguration(t)
    edit(join(configDir, 'gateway.yaml'), (text) =>
      text.replace('maxTtl: 30s', 'maxTtl: half a minute').replace('listen:', 'lisen:'),
    )
    edit(join(configDir, 'authorization-server.yaml'), (text) =>
      text.replace(/^issuer:.*$/m, 'issuer: not an address').replace(/accessToken: \w+/, 'accessToken: soon'),
    )
    const expected = {
      gateway: ['half a minute', 'unknown key "lisen"'],
      'authorization-server': ['not an address', 'soon'],
    }
    for (const [service, words] of Object.entries(expected)) {
      const { code, output } = await runCommand(
        [service, '--config', configDir],
        secretFile(service, configDir),
      )
      t.equal(code, 3, output)
      t.equal(output.match(new RegExp(`${service}\\.yaml:\\d+:\\d+`, 'g'))?.length, words.length, output)
      for (const word of words) t.match(output, word)
      t.notMatch(output, STACK)
    }
  },
)

t.test(
  'a missing configuration folder or an invalid environment variable: the gateway does not start and names it',
  apart(),
  async (t) => {
    const { configDir } = copyConfiguration(t)
    const missing = await runCommand(['gateway', '--config', join(configDir, 'nowhere')])
    t.equal(missing.code, 3, missing.output)
    t.match(missing.output, 'gateway.yaml')
    t.notMatch(missing.output, STACK)
    const nonsense = await runCommand(['gateway', '--config', configDir], {
      ...secretFile('gateway', configDir),
      SCOPEGATE_LISTEN__PORT: 'eighty',
    })
    t.equal(nonsense.code, 3, nonsense.output)
    t.match(nonsense.output, 'SCOPEGATE_LISTEN__PORT')
    t.notMatch(nonsense.output, STACK)
  },
)

t.test('a port in use: each program names the port and how to choose another', apart(), async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  t.teardown(() => holder.close())
  await new Promise((resolve) => holder.on('listening', resolve))
  const address = holder.address()
  const port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const { configDir } = copyConfiguration(t)
  const data = join(configDir, 'data')
  for (const [command, ...args] of [
    ['dev', '--data', data],
    ['gateway'],
    ['authorization-server'],
  ] as const) {
    const { code, output } = await runCommand([command, ...args, '--config', configDir], {
      PORT: port,
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DATA_DIR: data,
      ...secretFile(command, configDir),
    })
    t.equal(code, 1, `${command}: ${output}`)
    t.match(output, `127.0.0.1:${port}`)
    t.match(output, /another program listens/)
    t.match(output, /PORT/)
    t.notMatch(output, STACK)
  }
})

t.test('a data folder that is not writable: the message names folder and setting', apart(), async (t) => {
  const { configDir } = copyConfiguration(t)
  const file = join(configDir, 'gateway.yaml')
  for (const data of [file, join(file, 'below')]) {
    const dev = await runCommand(['dev', '--data', data], { PORT: String(await quietPort()) })
    t.equal(dev.code, 1, dev.output)
    t.match(dev.output, data)
    t.match(dev.output, '--data')
    t.notMatch(dev.output, STACK)
    const server = await runCommand(['authorization-server', '--config', configDir], {
      PORT: '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DATA_DIR: data,
      ...secretFile('authorization-server', configDir),
    })
    t.equal(server.code, 1, server.output)
    t.match(server.output, data)
    t.match(server.output, /dataDir|SCOPEGATE_DATA_DIR/)
    t.notMatch(server.output, STACK)
  }
})

t.test(
  'unreachable upstreams: the gateway starts and responds with JSON that says what to do',
  apart(),
  async (t) => {
    const { configDir } = copyConfiguration(t)
    const gone = `http://127.0.0.1:${await quietPort()}`
    const gateway = await startService(t, 'gateway', {
      SCOPEGATE_CONFIG_DIR: configDir,
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: gone,
      SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: gone,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: `${gone}${ENDPOINTS.introspection}`,
      SCOPEGATE_ISSUERS__0__REVOCATIONS: `${gone}/internal/revocations`,
      ...secretFile('gateway', configDir),
    })
    const requests = {
      'an anonymous call': await send(`${gateway.url}/api/courses`),
      'a call with a body': await send(`${gateway.url}/api/courses`, { json: { title: 'x' } }),
      'an opaque token while introspection is unavailable': await send(`${gateway.url}/api/courses`, {
        token: 'x'.repeat(43),
      }),
      'the token endpoint': await send(`${gateway.url}${ENDPOINTS.token}`, {
        form: { grant_type: 'refresh_token' },
      }),
      'the authorization endpoint': await send(`${gateway.url}${ENDPOINTS.authorization}?client_id=x`),
    }
    for (const [name, answer] of Object.entries(requests)) {
      t.ok([502, 503].includes(answer.status), `${name}: ${answer.status}`)
      t.match(answer.headers.get('content-type'), /^application\/json/, name)
      t.match(
        answer.json,
        { error: 'upstream_unavailable', error_description: /\S/, request_id: String },
        name,
      )
      t.equal(answer.headers.get('x-scopegate-error'), '1', name)
      t.notMatch(answer.text, /127\.0\.0\.1|ECONNREFUSED/, `${name} reveals no internal details`)
    }
    t.equal((await send(`${gateway.url}/.well-known/oauth-protected-resource`)).status, 200)
    await until('the log contains the exact cause', async () => gateway.log().includes('ECONNREFUSED'))
  },
)

/** Copies the configuration and the policies of this repository, so that a test can change them. */
function copyConfiguration(t: Test): { readonly configDir: string; readonly policiesDir: string } {
  const folder = t.testdir()
  const configDir = join(folder, 'config')
  const policiesDir = join(folder, 'policies')
  cpSync(join(findPackageRoot(), 'config'), configDir, { recursive: true })
  cpSync(join(findPackageRoot(), 'policies'), policiesDir, { recursive: true })
  mkdirSync(join(folder, 'secrets'))
  writeFileSync(join(folder, 'secrets', 'gateway'), 'a secret of the tests, long enough to be one')
  return { configDir, policiesDir }
}

/**
 * Returns environment variables with the path of the secret file for the two services. `dev` generates its own secret.
 */
function secretFile(command: string, configDir: string): Record<string, string> {
  const file = join(configDir, '..', 'secrets', 'gateway')
  if (command === 'gateway') return { SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: file }
  return command === 'authorization-server' ? { SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: file } : {}
}

/** Returns the arguments with the policy folder. `gateway` reads this path from its configuration. */
function policiesOf(command: string, policiesDir: string): readonly string[] {
  return command === 'dev' ? ['--policies', policiesDir] : []
}

function edit(file: string, change: (text: string) => string): void {
  const before = readFileSync(file, 'utf8')
  const after = change(before)
  if (after === before) throw new Error(`nothing to change in ${file}`)
  writeFileSync(file, after)
}
