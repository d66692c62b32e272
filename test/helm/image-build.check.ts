import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { findProductionPackages } from '../../scripts/image/production-packages.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { until } from '../fixtures/until.ts'
import type { Image } from './image.ts'
import { inNamespaces } from './in-namespaces.ts'
import { startPod } from './pod.ts'
import { CHART, find, ROOT, render } from './render-chart.ts'

const EPOCH_SECONDS = '1767225600'
const MAX_BYTES = 180_000_000
/** Every file of the image outside /app. Folders do not count. */
const SYSTEM_FILES =
  /^(?:usr\/local\/bin\/node|etc\/(?:passwd|group|nsswitch\.conf|ssl\/certs\/ca-certificates\.crt)|lib(?:64)?\/(?:[^/]+-linux-gnu\/)?(?:ld-linux-[^/]+|lib(?:c|m|dl|atomic|pthread|gcc_s|stdc\+\+))\.so\.\d)$/
const APP_FILES =
  /^app\/(?:package\.json|LICENSE|bin\/[^/]+\.js|node_modules\/.+|dist\/(?:cli|oauth|platform|policy-engine|gateway|authorization-server)\/.+)$/
const TOOLS = new Set([
  'sh',
  'bash',
  'dash',
  'busybox',
  'apt',
  'apt-get',
  'dpkg',
  'npm',
  'npx',
  'yarn',
  'corepack',
])

inNamespaces(import.meta.filename, () => {
  t.test('builds of the gateway image in two folders have the same digest', async (t) => {
    const storage = mkdtempSync(join(tmpdir(), 'buildah-'))
    run('mount', '-t', 'tmpfs', 'buildah', storage)
    const first = buildImage(storage, 'first')
    const second = buildImage(storage, 'second')
    t.match(first.digest, /^sha256:[0-9a-f]{64}$/)
    t.equal(second.digest, first.digest)
    t.equal(first.config.User, '65532:65532')
    t.match(first.config.Labels, {
      'org.opencontainers.image.revision': '0123abc',
      'org.opencontainers.image.created': '2026-01-01T00:00:00Z',
    })

    const root = buildah(storage, 'mount', buildah(storage, 'from', 'first'))
    checkContents(t, root)
    await checkGateway(t, {
      root,
      copies: [],
      entrypoint: first.config.Entrypoint,
      env: Object.fromEntries(first.config.Env.map((one) => one.split('=') as [string, string])),
      workdir: first.config.WorkingDir,
      user: { uid: 65_532, gid: 65_532 },
    })
  })

  t.test('make-root.js rejects a folder that exists', async (t) => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'scripts', 'image', 'make-root.js'), t.testdir()],
      { encoding: 'utf8' },
    )
    t.equal(status, 1)
    t.match(stderr, 'exists already')
  })
})

type Built = {
  readonly digest: string
  readonly config: {
    readonly User: string
    readonly Entrypoint: readonly string[]
    readonly Env: readonly string[]
    readonly WorkingDir: string
    readonly Labels: Readonly<Record<string, string>>
  }
}

/**
 * Builds the gateway image from a copy of the sources in a new folder. Folders replace the stages `build`, `packages`
 * and `system` of the Dockerfile, because these stages need a base image and a package registry.
 */
function buildImage(storage: string, name: string): Built {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  const app = join(folder, 'build', 'app')
  for (const file of contextFiles()) cpSync(join(ROOT, file), join(app, file), { recursive: true })
  mkdirSync(join(app, 'node_modules'))
  run('mount', '--bind', join(ROOT, 'node_modules'), join(app, 'node_modules'))
  run(process.execPath, join(app, 'scripts', 'build.js'))
  for (const { path } of findProductionPackages(ROOT)) {
    const copy = join(folder, 'packages', 'app', path)
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(join(ROOT, path), copy, {
      recursive: true,
      filter: (from) => !from.slice(join(ROOT, path).length).includes('/node_modules'),
    })
  }
  const system = join(folder, 'system', 'image')
  mkdirSync(dirname(system))
  run(process.execPath, join(app, 'scripts', 'image', 'make-root.js'), system)
  buildah(
    storage,
    ...['build', '--quiet', '--tag', name, '--target', 'gateway', '--file', join(ROOT, 'Dockerfile')],
    ...['--timestamp', EPOCH_SECONDS, '--identity-label=false'],
    ...['--build-arg', 'REVISION=0123abc', '--build-arg', 'CREATED=2026-01-01T00:00:00Z'],
    ...['build', 'packages', 'system'].map((stage) => `--build-context=${stage}=${join(folder, stage)}`),
    ...[`--ignorefile=${join(ROOT, '.dockerignore')}`, app],
  )
  const { FromImageDigest: digest, OCIv1 } = JSON.parse(buildah(storage, 'inspect', '--type=image', name))
  return { digest, config: OCIv1.config }
}

/** Returns the files and folders that .dockerignore includes. */
function contextFiles(): readonly string[] {
  const text = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  return [...text.matchAll(/^!(.+)$/gm)].map(([, file = '']) => file)
}

function checkContents(t: Test, root: string): void {
  let bytes = 0
  const unknown: string[] = []
  for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const status = lstatSync(join(root, file))
    // The folder /tmp has the sticky bit, which is not in this mask.
    if ((status.mode & 0o6000) !== 0 || TOOLS.has(file.split('/').at(-1) ?? '')) unknown.push(file)
    if (status.isDirectory()) continue
    if (!SYSTEM_FILES.test(file) && !APP_FILES.test(file)) unknown.push(file)
    bytes += status.size
  }
  t.same(unknown, [], 'the image contains no shell, no package manager and no setuid file')
  t.ok(bytes > 0 && bytes <= MAX_BYTES, `the image has ${bytes} bytes`)
}

/** Runs the image in a pod of the chart: probes, a request, and SIGTERM during a request. */
async function checkGateway(t: Test, image: Image): Promise<void> {
  const issuer = await startJwtIssuer({ algorithms: ['RS256'] })
  t.teardown(() => issuer.close())
  const upstream = createServer((request, response) => {
    if (request.url !== '/api/books?slow') response.end('books')
  }).listen(8080, '127.0.0.2')
  t.teardown(() => upstream.close())
  const objects = render(
    ...['--values', join(CHART, 'ci', 'jwt-issuer-values.yaml')],
    ...['--set', `gateway.issuers[0].issuer=${issuer.issuer}`],
    ...['--set', 'upstreams.books.url=http://127.0.0.2:8080,gateway.config.listen.host=127.0.0.1'],
  )
  const pod = startPod(find(objects, 'Deployment', 'gw-scopegate'), {
    ...{ objects, hosts: [], images: { gateway: image } },
  })
  t.teardown(() => pod.kill())
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) await pod.probe(probe)

  const program = `
    const { timeZone } = Intl.DateTimeFormat('en', { timeZone: 'Asia/Tokyo' }).resolvedOptions()
    let error
    try { require('node:fs').writeFileSync('/app/new', '') } catch ({ code }) { error = code }
    console.log(process.version, process.getuid(), timeZone, error)`
  const { output } = pod.exec(['node', '-e', program], '')
  t.equal(output, `${process.version} 65532 Asia/Tokyo EROFS\n`)
  t.not(pod.exec(['sh', '-c', 'true'], '').status, 0, 'the image has no shell')

  const token = issuer.sign({ aud: 'api://books', scope: 'openid' }, { typ: 'JWT' })
  const get = (path: string) =>
    fetch(`${pod.address('http')}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const served = await get('/api/books')
  t.equal(served.status, 200)
  t.equal(await served.text(), 'books')

  const slow = get('/api/books?slow')
  const [, response] = (await once(upstream, 'request')) as [unknown, ServerResponse]
  const stopped = pod.stop()
  await until('the gateway is not ready', async () => {
    const ready = await fetch(`${pod.address('management')}/readyz`)
    await ready.text()
    return ready.status === 503
  })
  response.end('slow books')
  t.equal(await (await slow).text(), 'slow books', 'SIGTERM does not interrupt an open request')
  t.equal(await stopped, 0, 'the gateway exits with 0 after SIGTERM', { output: pod.output() })
}

function buildah(storage: string, ...args: readonly string[]): string {
  return run(
    'buildah',
    ...['--root', join(storage, 'root'), '--runroot', join(storage, 'run'), '--storage-driver=overlay'],
    ...args,
  )
}

function run(command: string, ...args: readonly string[]): string {
  // `env` removes the variables that the test runner adds to every child process.
  const env = ['--ignore-environment', `PATH=${process.env['PATH']}`, `TMPDIR=${tmpdir()}`]
  const { status, stdout, stderr, error } = spawnSync('env', [...env, command, ...args], { encoding: 'utf8' })
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout.trim()
}
