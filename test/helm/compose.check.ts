import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { RULE_FILES, readRules } from '../fixtures/alert-rules.ts'
import { type ComposeService, readComposeFile, readComposeMount } from '../fixtures/compose-file.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { until } from '../fixtures/until.ts'
import { type Image, readImage } from './image.ts'
import { inNamespaces } from './in-namespaces.ts'
import { type RunningContainer, startContainer } from './pod.ts'
import { ROOT } from './render-chart.ts'

const GATEWAY = 'http://127.0.0.1:8080'
const PROMETHEUS = 'http://127.0.0.1:9095'
const PASSWORD = 'correct horse battery staple'
/**
 * The user ID that owns a new named volume. The owner is the owner of the folder in the image, or root if the image has
 * no such folder.
 */
const VOLUME_OWNERS: Readonly<Record<string, number>> = {
  'client-secret': 0,
  keys: 65_532,
  platform: 65_532,
  prometheus: 65_534,
  redis: 999,
}
/** An image for containers that need a shell. The image contains the programs of this machine. */
const MACHINE: Image = {
  entrypoint: [],
  env: {},
  workdir: '/',
  user: { uid: 0, gid: 0 },
  copies: ['/usr', '/bin'].map((folder) => ({ from: folder, to: folder })),
}
/** The programs of the official image. promtool and prometheus are in the same folder of this machine. */
const PROMETHEUS_IMAGE: Image = {
  entrypoint: ['/bin/prometheus'],
  env: {},
  workdir: '/prometheus',
  user: { uid: 65_534, gid: 65_534 },
  copies: ['prometheus', 'promtool'].map((name) => ({ from: join(toolFolder(), name), to: `/bin/${name}` })),
}

type Running = RunningContainer & { readonly output: () => string }

inNamespaces(import.meta.filename, () => {
  t.test('the loader of Docker Compose accepts compose.yaml with and without its profile', async (t) => {
    for (const profiles of [[], ['monitoring']]) {
      const { status, stderr } = checkCompose(join(ROOT, 'compose.yaml'), ...profiles)
      t.equal(status, 0, stderr)
    }
    const changed = join(t.testdir(), 'compose.yaml')
    writeFileSync(changed, readFileSync(join(ROOT, 'compose.yaml'), 'utf8').replace('cap_drop', 'cap_drops'))
    t.match(checkCompose(changed).stderr, 'cap_drops')
  })

  t.test('the services of compose.yaml start, become healthy and serve requests', async (t) => {
    const { services } = readComposeFile()
    const volumes = makeVolumes()
    const running = new Map<string, Running>()
    const hosts = Object.keys(services)
    const unprofiled = hosts.filter((name) => services[name]?.profiles === undefined)
    const start = async (name: string): Promise<void> => {
      const service = services[name]
      if (service === undefined || running.has(name)) return
      for (const other of Object.keys(service.depends_on ?? {})) await start(other)
      running.set(name, run(t, { name, service, hosts, volumes }))
      await waitFor(t, name, service, running)
    }
    for (const name of unprofiled) await start(name)
    const secret = join(volumes('client-secret'), 'gateway-client-secret')
    const made = readFileSync(secret, 'utf8')
    t.match(made, /^[0-9a-f]{64}$/)
    t.equal(statSync(secret).mode & 0o777, 0o444)

    const anonymous = await fetch(`${GATEWAY}/api/courses`)
    t.equal(anonymous.status, 200, 'without a token: the demo API answers through the gateway')
    const bad = await fetch(`${GATEWAY}/api/courses`, { headers: { authorization: 'Bearer no-such-token' } })
    t.equal(bad.status, 401)
    const server = running.get('authorization-server')
    const added = server?.exec(['node', 'bin/scopegate.js', 'account', 'add', 'carol'], PASSWORD)
    t.equal(added?.status, 0, 'an account is added as docs/install.md says', { added })
    const token = await getToken(t)
    const known = await fetch(`${GATEWAY}/api/courses?limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    })
    t.equal(known.status, 200, 'with a token: the demo API verifies the assertion of the gateway')

    for (const name of ['gateway', 'authorization-server'])
      t.notMatch(running.get(name)?.output(), 'config_warning', `${name} knows every setting`)
    await start('prometheus')
    await checkPrometheus(t, running.get('prometheus'))

    const again = services['client-secret']
    if (again === undefined) throw new Error('no service client-secret')
    const second = run(t, { name: 'client-secret', service: again, hosts, volumes })
    t.equal(await exitCode(second.child), 0)
    t.equal(readFileSync(secret, 'utf8'), made, 'a later start keeps the secret')

    for (const name of ['prometheus', 'gateway', 'learning-platform', 'authorization-server']) {
      const one = running.get(name)
      const check = services[name]?.healthcheck?.test.slice(1) ?? []
      one?.child.kill('SIGTERM')
      t.equal(await exitCode(one?.child), 0, `${name} ends with 0 after SIGTERM`, { output: one?.output() })
      t.not(one?.exec(check, '').status, 0, `${name}: the health check fails when nothing listens`)
    }
  })
})

function checkCompose(file: string, ...profiles: readonly string[]) {
  const command = process.env['SCOPEGATE_COMPOSE_CHECK'] ?? 'check-compose'
  const { status, stderr, error } = spawnSync(command, [file, ...profiles], { encoding: 'utf8' })
  if (error !== undefined) throw error
  return { status, stderr }
}

function makeVolumes(): (name: string) => string {
  const folders = new Map<string, string>()
  return (name) => {
    const known = folders.get(name)
    if (known !== undefined) return known
    const owner = VOLUME_OWNERS[name]
    if (owner === undefined) throw new Error(`who owns the volume ${name}?`)
    const folder = mkdtempSync(join(tmpdir(), `volume-${name}-`))
    chmodSync(folder, owner === 65_532 ? 0o750 : 0o755)
    chownSync(folder, owner, owner)
    folders.set(name, folder)
    return folder
  }
}

function run(
  t: Test,
  options: {
    readonly name: string
    readonly service: ComposeService
    readonly hosts: readonly string[]
    readonly volumes: (name: string) => string
  },
): Running {
  const { name, service, hosts, volumes } = options
  const image = imageOf(name, service)
  const [uid = image.user.uid, gid = image.user.gid] = service.user?.split(':').map(Number) ?? []
  const command = [...(service.entrypoint ?? image.entrypoint), ...(service.command ?? [])]
  const { child, exec } = startContainer({
    ...{ name, image, hosts, owner: { uid, gid }, env: service.environment ?? {} },
    readOnlyRoot: service.read_only === true,
    // Removes the capabilities of root. Other users lose their capabilities when the user ID changes.
    command: uid === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all', ...command] : command,
    mounts: [
      ...(service.tmpfs ?? []).map((path) => ({ folder: temporaryFolder(), path, readOnly: false })),
      ...(service.volumes ?? []).map(readComposeMount).map(({ source, isBind, target, readOnly }) => ({
        folder: isBind ? join(ROOT, source) : volumes(source),
        path: target,
        readOnly,
      })),
    ],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  return { child, exec, output: () => output }
}

function imageOf(name: string, { build }: ComposeService): Image {
  if (build !== undefined) return readImage(build.target)
  return name === 'prometheus' ? PROMETHEUS_IMAGE : { ...MACHINE, workdir: name === 'redis' ? '/data' : '/' }
}

function toolFolder(): string {
  const promtool = process.env['SCOPEGATE_PROMTOOL'] ?? 'promtool'
  return dirname(execFileSync('sh', ['-c', 'command -v "$1"', 'sh', promtool], { encoding: 'utf8' }).trim())
}

/** Checks the configuration with promtool, and the targets and rules in the API of the running Prometheus. */
async function checkPrometheus(t: Test, prometheus: Running | undefined): Promise<void> {
  const check = ['promtool', 'check', 'config', '--lint-fatal', '/etc/prometheus/prometheus.yml']
  const checked = prometheus?.exec(check, '')
  t.equal(checked?.status, 0, 'promtool accepts the configuration', { checked })
  const count = RULE_FILES.flatMap(readRules).length
  const rules = (await query('rules')).groups?.flatMap((group) => group.rules) ?? []
  t.equal(rules.length, count, 'Prometheus loads all rules of the chart')
  const up = await until('Prometheus scrapes both services', async () => {
    const { activeTargets = [] } = await query('targets')
    return activeTargets.length > 0 && activeTargets.every(({ health }) => health !== 'unknown')
      ? activeTargets
      : undefined
  })
  t.same(
    up.map(({ labels, health, lastError }) => [labels['job'], health, lastError]).toSorted(),
    [
      ['scopegate-authorization-server', 'up', ''],
      ['scopegate-gateway', 'up', ''],
    ],
    'both management ports accept the names of their services',
  )
}

type PrometheusData = {
  readonly groups?: readonly { readonly rules: readonly unknown[] }[]
  readonly activeTargets?: readonly {
    readonly labels: Readonly<Record<string, string>>
    readonly health: string
    readonly lastError: string
  }[]
}

async function query(name: 'rules' | 'targets'): Promise<PrometheusData> {
  const response = await fetch(`${PROMETHEUS}/api/v1/${name}`)
  return ((await response.json()) as { readonly data: PrometheusData }).data
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tmpfs-'))
  chmodSync(folder, 0o1777)
  return folder
}

/** Waits until a service is healthy, which Compose does too. A service without a health check must exit with code 0. */
async function waitFor(
  t: Test,
  name: string,
  service: ComposeService,
  running: ReadonlyMap<string, Running>,
): Promise<void> {
  const one = running.get(name)
  if (one === undefined) throw new Error(`${name} does not run`)
  const check = service.healthcheck?.test.slice(1)
  if (check === undefined) {
    t.equal(await exitCode(one.child), 0, `${name} completes`, { output: one.output() })
    return
  }
  await until(`${name} is healthy`, async () => {
    if (one.child.exitCode !== null) throw new Error(`${name} ended: ${one.output()}`)
    return one.exec(check, '').status === 0
  })
  t.pass(`${name} is healthy`)
}

async function exitCode(child: ChildProcess | undefined): Promise<number | null> {
  if (child === undefined) throw new Error('no such container')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}

/** Completes the authorization code flow with the example client and the new account. */
async function getToken(t: Test): Promise<string> {
  const client = spawn(
    process.execPath,
    [join(ROOT, 'examples', 'clients', 'get-token.ts'), '--api', GATEWAY, '--scope', 'openid courses:read'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  t.teardown(() => client.kill())
  const printed = text(client.stdout)
  let said = ''
  client.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const address = await until(
    'the client asks for a browser',
    async () => /\bhttp\S+\/authorize\S+/.exec(said)?.[0],
  )
  const callback = await signIn(openBrowser(GATEWAY), address, { username: 'carol', password: PASSWORD })
  await fetch(callback)
  const { access_token } = JSON.parse(await printed) as { readonly access_token: string }
  t.type(access_token, 'string')
  return access_token
}
