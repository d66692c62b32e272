import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { send } from '../fixtures/send.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { until } from '../fixtures/until.ts'

const ROOT = findPackageRoot()
const PAGE = readFileSync(join(ROOT, 'docs/fastify-plugin.md'), 'utf8')

/** The commands of the page, without their indentation. */
const BLOCKS = [...PAGE.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) =>
  block.replaceAll(/^ +/gm, ''),
)

t.test('the commands of fastify-plugin.md start the example, with the responses of the page', async (t) => {
  const [install = '', start = '', requests = '', ...others] = BLOCKS
  t.same(others, [])
  const folder = t.testdir({ packed: {}, service: {} })
  const cwd = join(folder, 'service')
  // The commands must use the Node.js version of the tests.
  const env = plainEnvironment()
  env['PATH'] = `${dirname(process.execPath)}:${env['PATH']}`
  execFileSync('npm', ['pack', '--silent', '--pack-destination', join(folder, 'packed')], {
    cwd: ROOT,
    env,
    stdio: 'pipe',
  })
  for (const file of readdirSync(join(folder, 'packed')))
    copyFileSync(join(folder, 'packed', file), join(cwd, file))
  execFileSync('bash', ['-euc', install], {
    cwd,
    env: { ...env, npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' },
    stdio: 'pipe',
  })
  const copies = readdirSync(cwd, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('node_modules/fastify/package.json'))
  t.same(
    copies,
    ['node_modules/fastify/package.json'],
    'the service and the package share one copy of Fastify',
  )

  // The test changes only the ports, because other processes can use the ports of the page.
  const ports = new Map<string, string>()
  for (const port of ['8080', '5000']) ports.set(port, String(await findFreePort('127.0.0.1')))
  const withPorts = (text: string): string =>
    text.replaceAll(/\b(?:8080|5000)\b/g, (port) => ports.get(port) ?? port)
  for (const file of ['server.js', 'upstream.js', 'create-token.js', 'config/gateway.yaml'])
    writeFileSync(join(cwd, file), withPorts(readFileSync(join(cwd, file), 'utf8')))

  // The shell keeps the variable TOKEN, and runs the requests when the test has found that both servers listen.
  const shell = spawn('bash', ['-eu'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  t.teardown(() => endGroup(shell))
  let output = ''
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  shell.stdin.write(`${start}\necho "TOKEN=$TOKEN"\n`)
  await until('both servers listen', async () => {
    if (shell.exitCode !== null) throw new Error(`the shell ended: ${output}`)
    return (await send(`http://127.0.0.1:${ports.get('8080')}/status`).catch(() => undefined))?.status === 200
  })
  recordCredential(/^TOKEN=(\S+)$/m.exec(output)?.[1] ?? '')
  shell.stdin.write(`${withPorts(requests)}\necho END\n`)
  await until('the requests have responses', async () => /^END$/m.test(output))
  const statuses = [...output.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)
  const [stated = ''] = /The status codes are .*?\./.exec(PAGE.replaceAll(/\s+/g, ' ')) ?? []
  t.same(statuses, stated.match(/\d+/g))
  t.match(output, /^www-authenticate: Bearer .*scope="courses:read"/im)
  t.match(output, /"path":"\/courses","subject":"user-1","scope":"courses:read"/)
})

/** Ends the shell and the servers that the shell has started. */
async function endGroup(shell: ChildProcess): Promise<void> {
  if (shell.pid === undefined || shell.exitCode !== null) return
  process.kill(-shell.pid)
  await once(shell, 'exit')
}
