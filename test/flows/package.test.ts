import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { recordCredential } from '../fixtures/capture.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { documentedBlock, readRepositoryFile } from '../fixtures/repository-texts.ts'
import { send } from '../fixtures/send.ts'
import { plainEnvironment, spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { PATIENT } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

/** The index of the documentation also lists examples in TypeScript, and the chart. The package has neither. */
const ONLY_IN_REPOSITORY = /^(?:examples|helm)\//
const ROOT = join(import.meta.dirname, '..', '..')
const PLUGIN_PAGE = readRepositoryFile('docs/fastify-plugin.md')
const SERVICE = `import Fastify from 'fastify'
import scopegate from 'scopegate/fastify'

const app = Fastify()
await app.register(scopegate, { configDir: 'config' })
app.get('/status', async (request): Promise<string | undefined> => request.scopegate?.route)
const allowed = await app.inject('/status')
const denied = await app.inject('/courses')
const challenge: unknown = denied.headers['www-authenticate']
await app.close()
process.stdout.write(\`\${allowed.statusCode} \${allowed.body}\\n\${denied.statusCode} \${challenge}\\n\`)
`

t.test('the npm package installs a working scopegate command in an empty folder', async (t) => {
  const folder = t.testdir({ packed: {}, empty: { 'package.json': '{}' }, followed: {} })
  const empty = join(folder, 'empty')
  const env = plainEnvironment()
  const quick = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }
  const commands = documentedBlock('docs/install.md', 'npm pack')
    .replace('npm pack', `npm pack --silent ${ROOT}`)
    .replaceAll('/opt/scopegate-0.1.0', empty)
  const found = execFileSync('bash', ['-euc', `${commands}\ncommand -v scopegate`], {
    cwd: join(folder, 'packed'),
    env: { ...env, ...quick },
    encoding: 'utf8',
  })
  t.match(found, join(empty, 'node_modules/.bin/scopegate'))
  const [tarball = ''] = readdirSync(join(folder, 'packed'))

  await t.test('the package contains no Node.js runtime and no test', async (t) => {
    const installed = readdirSync(join(empty, 'node_modules'))
    t.same(
      installed.filter(
        (name) => /^node-(linux|darwin|win)-/.test(name) || name === 'tap' || name === 'playwright-core',
      ),
      [],
    )
    const files = readdirSync(join(empty, 'node_modules', 'scopegate'), { recursive: true }).map(String)
    t.same(
      files.filter((file) => /(?<!\.d)\.ts$/.test(file) || file === 'test' || file.includes('.test.')),
      [],
    )
    t.ok(files.includes(join('dist', 'gateway', 'pages', 'browser', 'reference.js')), 'the script of /docs')
    t.match(readFileSync(join(empty, 'node_modules', 'scopegate', 'LICENSE'), 'utf8'), 'Apache License')
  })

  await t.test('every relative link in its documentation points to a file in the package', async (t) => {
    const packed = join(empty, 'node_modules', 'scopegate')
    const pages = readdirSync(packed, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith('.md'))
    t.ok(pages.includes('README.md') && pages.length > 10, pages.join(' '))
    for (const page of pages) {
      const links = readFileSync(join(packed, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)
      for (const [, link = ''] of links) {
        const path = join(dirname(page), link)
        if (page === 'docs/README.md' && ONLY_IN_REPOSITORY.test(path))
          t.ok(existsSync(join(ROOT, path)), `${page}: ${link} in the repository`)
        else t.ok(existsSync(join(packed, path)), `${page}: ${link}`)
      }
    }
  })

  await t.test('a service in TypeScript uses scopegate/fastify with its types', async (t) => {
    const cwd = join(empty, 'service')
    cpSync(join(empty, 'node_modules/scopegate/examples/fastify-gateway'), cwd, { recursive: true })
    writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(cwd, 'service.ts'), SERVICE)
    const types = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] }
    const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, module: 'nodenext', ...types }
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['service.ts'] }))
    const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8' })
    run('create-token.js', 'courses:read')
    t.equal(run(join(ROOT, 'node_modules/typescript/bin/tsc')), '')
    t.match(run('service.ts'), /^200 api\/status\n401 Bearer /m)
  })

  await t.test('the commands of fastify-plugin.md work, with the responses of the page', async (t) => {
    const install = documentedBlock('docs/fastify-plugin.md', 'npm init')
    const start = documentedBlock('docs/fastify-plugin.md', 'node create-token.js')
    const requests = documentedBlock('docs/fastify-plugin.md', 'curl -i')
    const cwd = join(folder, 'followed')
    copyFileSync(join(folder, 'packed', tarball), join(cwd, tarball))
    // The commands must use the Node.js version of the tests.
    const own = { ...env, PATH: `${dirname(process.execPath)}:${env['PATH']}` }
    execFileSync('bash', ['-euc', install], { cwd, env: { ...own, ...quick }, stdio: 'pipe' })
    const copies = readdirSync(cwd, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith('node_modules/fastify/package.json'))
    t.same(copies, ['node_modules/fastify/package.json'], 'the service and the package share Fastify')

    // The test changes only the ports, because other processes can use the ports of the page.
    const ports = new Map<string, string>()
    for (const port of ['8080', '5000']) ports.set(port, String(await quietPort()))
    const withPorts = (text: string): string =>
      text.replaceAll(/\b(?:8080|5000)\b/g, (port) => ports.get(port) ?? port)
    for (const file of ['server.js', 'upstream.js', 'create-token.js', 'config/gateway.yaml'])
      writeFileSync(join(cwd, file), withPorts(readFileSync(join(cwd, file), 'utf8')))

    // The shell keeps the variable TOKEN, and runs the requests when the test has found that both servers listen.
    const shell = spawn('bash', ['-eu'], { cwd, env: own, stdio: 'pipe', detached: true })
    t.teardown(() => endGroup(shell))
    let output = ''
    let errors = ''
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    shell.stdin.write(`${start}\necho "TOKEN=$TOKEN"\n`)
    const status = `http://127.0.0.1:${ports.get('8080')}/status`
    await until('both servers listen', async () => {
      if (shell.exitCode !== null) throw new Error(`the shell ended: ${output}${errors}`)
      return (await send(status).catch(() => undefined))?.status === 200
    })
    recordCredential(/^TOKEN=(\S+)$/m.exec(output)?.[1] ?? '')
    // A response can end without a line break.
    shell.stdin.write(`${withPorts(requests)}\necho\necho END\n`)
    await until('the requests have responses', async () => /^END$/m.test(output))
    const statuses = [...output.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)
    const [stated = ''] = /The status codes are .*?\./.exec(PLUGIN_PAGE.replaceAll(/\s+/g, ' ')) ?? []
    t.same(statuses, stated.match(/\d+/g))
    t.match(output, /^www-authenticate: Bearer .*scope="courses:read"/im)
    t.match(output, /"path":"\/courses","subject":"user-1","scope":"courses:read"/)
  })

  await t.test('npx scopegate --help lists its commands', async (t) => {
    t.match(
      execFileSync('npx', ['--no-install', 'scopegate', '--help'], {
        cwd: empty,
        env,
        encoding: 'utf8',
      }),
      /scopegate dev/,
    )
  })

  await t.test(
    'npx scopegate dev responds to the curl command that it prints, and exits with code 0 on SIGTERM',
    async (t) => {
      const child = spawnPlainly(join(empty, 'node_modules', '.bin', 'scopegate'), ['dev'], {
        cwd: empty,
        env: { ...PATIENT, PORT: String(await quietPort()), SCOPEGATE_MANAGEMENT__PORT: '0' },
      })
      let errors = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
      t.teardown(() => child.kill('SIGKILL'))
      const ended = new Promise((resolve) => child.on('exit', resolve))

      let url: string | undefined
      for await (const line of createInterface({ input: child.stdout })) {
        url = /curl (http:\S+)/.exec(line)?.[1]
        if (url !== undefined) break
      }
      const response = await fetch(url ?? '')
      t.equal(response.status, 200)
      t.match(await response.json(), { items: Array })

      child.kill('SIGTERM')
      t.equal(await ended, 0, errors)
      t.ok(readdirSync(empty).includes('.scopegate'), 'the data folder is in the working directory')
    },
  )
})

/** Ends the shell and the servers that the shell has started. */
async function endGroup(shell: ChildProcess): Promise<void> {
  if (shell.pid === undefined || shell.exitCode !== null) return
  process.kill(-shell.pid)
  await once(shell, 'exit')
}
