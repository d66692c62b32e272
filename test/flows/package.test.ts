import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { plainEnvironment, spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { PATIENT, quietPort } from '../fixtures/start-scopegate.ts'

const ROOT = join(import.meta.dirname, '..', '..')
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
  const folder = t.testdir({ packed: {}, empty: { 'package.json': '{}' } })
  const empty = join(folder, 'empty')
  const env = plainEnvironment()
  execFileSync('npm', ['pack', '--silent', '--pack-destination', join(folder, 'packed')], {
    cwd: ROOT,
    env,
    stdio: 'pipe',
  })
  const [tarball = ''] = readdirSync(join(folder, 'packed'))
  execFileSync(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, 'packed', tarball)],
    {
      cwd: empty,
      env,
      stdio: 'pipe',
    },
  )

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
      for (const [, link = ''] of links)
        t.ok(existsSync(join(packed, dirname(page), link)), `${page}: ${link}`)
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
    t.match(run('service.ts'), /^200 api\/status\n401 Bearer /)
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
      child.stderr.pipe(process.stderr)
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
      t.equal(await ended, 0)
      t.ok(readdirSync(empty).includes('.scopegate'), 'the data folder is in the working directory')
    },
  )
})
