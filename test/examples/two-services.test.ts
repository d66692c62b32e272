import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { fencedBlocksOf } from '../fixtures/repository-texts.ts'
import { runCommand } from '../fixtures/run-command.ts'
import { plainEnvironment, spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { until } from '../fixtures/until.ts'

// These tests run the commands of examples/two-services and examples/keycloak-issuer, and compare the shown output.
const EXAMPLES = resolve(import.meta.dirname, '../../examples')

type Step = { readonly command: string; readonly output: string }

/** Returns the commands with a prompt in a README file, with their output. */
function stepsOf(example: string): readonly Step[] {
  return fencedBlocksOf(`examples/${example}/README.md`)
    .filter(({ info }) => info === 'console')
    .flatMap(({ text }) => text.split(/^\$ /m).slice(1))
    .map((part) => ({
      command: part.split('\n', 1)[0] ?? '',
      output: part.split('\n').slice(1).join('\n').trim(),
    }))
}

/** Starts a program, and returns the URL in its output that matches. The program stops at the end of the test. */
async function start(
  t: Pick<Test, 'teardown'>,
  file: string,
  options: {
    readonly args?: readonly string[]
    readonly env?: Readonly<Record<string, string>>
    readonly url?: RegExp
  } = {},
): Promise<string> {
  const { args = [], env = {}, url = /http:\/\/[\w.:/]+/ } = options
  const child = spawnPlainly(process.execPath, [resolve(EXAMPLES, file), ...args], { env })
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill()
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return until(`the URL of ${file}`, async () => {
    if (child.exitCode !== null) throw new Error(output)
    return url.exec(output)?.at(-1)
  })
}

/** Returns whether the output contains each shown line. An ellipsis stands for any lines or text. */
function shows(output: string, shown: string): boolean {
  return shown
    .split(/…\n?/)
    .map((part) => part.trim())
    .every((part) => output.includes(part))
}

t.test('the policies of two-services pass their checks and tests', async (t) => {
  const commands = stepsOf('two-services').filter(({ command }) => command.startsWith('npx scopegate'))
  t.equal(commands.length, 3)
  for (const { command, output } of commands) {
    const [args = ''] = command.replace('npx scopegate ', '').split(' || ')
    const ran = await runCommand(args.split(' '))
    t.ok(shows(ran.output, output), `${command}\n${ran.output}`)
  }
})

t.test('the gateway validates tokens of the issuer and protects both services', async (t) => {
  const issuer = await start(t, 'keycloak-issuer/issuer.ts', { args: ['0'] })
  const gateway = await start(t, '../bin/scopegate.js', {
    args: ['gateway'],
    url: /"event":"listening".*"url":"([^"]+)"/,
    env: {
      PORT: '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
      // A busy machine must not count as overload.
      SCOPEGATE_OVERLOAD__LOOP_DELAY__CLOSE: '30s',
      SCOPEGATE_OVERLOAD__LOOP_DELAY__REFUSE: '60s',
      SCOPEGATE_CONFIG_DIR: resolve(EXAMPLES, 'keycloak-issuer/config'),
      SCOPEGATE_DATA_DIR: t.testdir({}),
      SCOPEGATE_ISSUERS__0__ISSUER: issuer,
      SCOPEGATE_UPSTREAMS__ORDERS__URL: await start(t, 'two-services/service.ts', { args: ['orders'] }),
      SCOPEGATE_UPSTREAMS__INVOICES__URL: await start(t, 'two-services/service.ts', { args: ['invoices'] }),
    },
  })
  const url = (text: string) =>
    text.replaceAll('http://127.0.0.1:8180/realms/main', issuer).replaceAll('http://127.0.0.1:8080', gateway)
  const [getToken, ...requests] = stepsOf('keycloak-issuer')
  t.equal(requests.length, 3)
  for (const { command, output } of requests) {
    const script = `${url(getToken?.command ?? '')}\n${url(command)}`
    const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: plainEnvironment() })
    t.equal(printed.trim(), output, command)
  }
  // Without a token, both examples respond alike.
  const [anonymous] = stepsOf('two-services').slice(-1)
  const printed = execFileSync('sh', ['-c', url(anonymous?.command ?? '')], { encoding: 'utf8' })
  t.equal(printed.trim(), anonymous?.output)
})
