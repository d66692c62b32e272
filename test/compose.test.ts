import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { AuthorizationServerFile } from '../authorization-server/authorization-server-file.ts'
import { GatewayFile } from '../gateway/config/gateway-file.ts'
import { UpstreamsFile } from '../gateway/config/upstreams-file.ts'
import { readConfig } from '../platform/config/read-config.ts'
import { findPackageRoot } from '../platform/process/package-root.ts'
import {
  type ComposeMount,
  type ComposeService,
  readComposeFile,
  readComposeMount,
} from './fixtures/compose-file.ts'
import { DASHBOARDS } from './fixtures/dashboards.ts'
import { readImage } from './helm/image.ts'

const ROOT = findPackageRoot()
const file = readComposeFile()
const services = Object.entries(file.services)

const dependenciesOf = ({ depends_on = {} }: ComposeService) => Object.entries(depends_on)
const serviceOf = (name: string): ComposeService => {
  const service = file.services[name]
  if (service === undefined) throw new Error(`compose.yaml has no service ${name}`)
  return service
}
/** Returns whether another service waits for the exit of this service. */
const runsOnce = (name: string): boolean =>
  services.some(([, service]) =>
    dependenciesOf(service).some(
      ([other, { condition }]) => other === name && condition === 'service_completed_successfully',
    ),
  )

// docker/compose pull request 12531: Compose mounts secrets and configs of a read-only service only from files.
t.test('D1: a read-only service gets secrets and configs only from files', async (t) => {
  for (const [name, { read_only, secrets = [], configs = [] }] of services) {
    t.equal(read_only, true, `${name} is read-only`)
    for (const secret of secrets) t.match(file.secrets?.[secret], { file: /./ }, `${name}: ${secret}`)
    for (const config of configs) t.match(file.configs?.[config], { file: /./ }, `${name}: ${config}`)
  }
})

t.test('D1: every service drops all capabilities and cannot get new privileges', async (t) => {
  for (const [name, service] of services) {
    t.same(service.cap_drop, ['ALL'], name)
    t.same(service.security_opt, ['no-new-privileges:true'], name)
  }
})

t.test('D1: every service that does not exit has a health check', async (t) => {
  for (const [name, service] of services) {
    if (runsOnce(name)) {
      t.equal(service.restart, 'no', `${name} runs once`)
      continue
    }
    t.equal(service.restart, 'unless-stopped', name)
    t.match(service.healthcheck, { test: ['CMD'], interval: /s$/, timeout: /s$/, retries: Number }, name)
  }
})

t.test('D1: a service waits until the services that it needs are healthy', async (t) => {
  for (const [name, service] of services) {
    t.notOk(Array.isArray(service.depends_on), `${name}: each dependency has a condition`)
    for (const [other, { condition }] of dependenciesOf(service)) {
      const expected = runsOnce(other) ? 'service_completed_successfully' : 'service_healthy'
      t.equal(condition, expected, `${name} waits for ${other}`)
      t.ok(file.services[other], `${other} is a service`)
    }
  }
  t.same(Object.keys(serviceOf('gateway').depends_on ?? {}).toSorted(), [
    'authorization-server',
    'client-secret',
    'learning-platform',
    'redis',
  ])
})

t.test('D1: both services use the same Redis', async (t) => {
  for (const name of ['gateway', 'authorization-server'])
    t.equal(serviceOf(name).environment?.['REDIS_URL'], 'redis://redis:6379', name)
  t.ok(file.services['redis'])
})

t.test('D1: configuration and policies are mounted, and the images do not contain them', async (t) => {
  for (const [name, folders] of [
    ['gateway', ['config', 'policies']],
    ['authorization-server', ['config']],
  ] as const) {
    const mounts = (serviceOf(name).volumes ?? []).map(readComposeMount)
    for (const folder of folders)
      t.match(
        mounts.find((one) => one.source === `./${folder}`),
        { target: `/etc/scopegate/${folder}`, readOnly: true },
        `${name}: ${folder}`,
      )
    t.equal(serviceOf(name).environment?.['SCOPEGATE_CONFIG_DIR'], '/etc/scopegate/config', name)
  }
  for (const [name, { build }] of services) {
    if (build === undefined) continue
    const { copies } = readImage(build.target)
    t.ok(copies.length > 0)
    t.same(
      copies.filter(({ from }) => /\/(config|policies)$/.test(from)),
      [],
      name,
    )
  }
})

t.test('D1: every mounted path exists, and every named volume is declared', async (t) => {
  const used = new Set<string>()
  for (const [name, service] of services) {
    for (const { source, isBind, target } of (service.volumes ?? []).map(readComposeMount)) {
      t.match(target, /^\//, `${name}: ${source}`)
      if (isBind) t.ok(existsSync(join(ROOT, source)), `${name}: ${source} exists`)
      else used.add(source)
    }
  }
  t.same(Object.keys(file.volumes ?? {}).toSorted(), [...used].toSorted())
})

t.test('D1: each service reads every environment variable that compose.yaml sets', async (t) => {
  const config = (name: string) => join(ROOT, 'config', name)
  const gateway = { env: serviceOf('gateway').environment ?? {} }
  const read = {
    gateway: readConfig({
      ...gateway,
      ...{ file: config('gateway.yaml'), schema: GatewayFile, otherSections: ['UPSTREAMS'] },
    }),
    upstreams: readConfig({
      ...gateway,
      ...{ file: config('upstreams.yaml'), schema: UpstreamsFile, section: 'UPSTREAMS' },
    }),
    'authorization-server': readConfig({
      ...{ file: config('authorization-server.yaml'), schema: AuthorizationServerFile },
      env: serviceOf('authorization-server').environment ?? {},
    }),
  }
  for (const [name, { warnings }] of Object.entries(read)) t.same(warnings, [], name)
  const settings = readFileSync(join(ROOT, 'examples', 'learning-platform', 'settings.ts'), 'utf8')
  for (const name of Object.keys(serviceOf('learning-platform').environment ?? {}))
    t.ok(settings.includes(`'${name}'`), name)
})

t.test('D1: every server listens on all addresses of its container', async (t) => {
  const hosts = services.flatMap(([name, { environment = {} }]) =>
    Object.entries(environment).flatMap(([key, value]) =>
      /LISTEN__HOST$|PLATFORM_HOST$/.test(key) ? [[name, value]] : [],
    ),
  )
  t.same(
    hosts,
    ['gateway', 'authorization-server', 'learning-platform'].map((name) => [name, '0.0.0.0']),
  )
})

t.test(
  'D1: only the gateway and the profile monitoring publish ports, on the loopback address',
  async (t) => {
    t.same(
      services.flatMap(([name, { profiles = [], ports = [] }]) =>
        ports.map((port) => [name, profiles, port]),
      ),
      [
        ['gateway', [], '127.0.0.1:8080:8080'],
        ['prometheus', ['monitoring'], '127.0.0.1:9095:9095'],
        ['grafana', ['monitoring'], '127.0.0.1:3000:3000'],
      ],
    )
  },
)

t.test('D1: the image of each service has a version', async (t) => {
  for (const [name, { image }] of services) t.match(image, /:v?\d/, name)
})

t.test('D1: Prometheus loads the rules of the chart and scrapes both services', async (t) => {
  const mounts = mountsOf('prometheus')
  const rules = mounts.find(({ source }) => source === './helm/alerts')
  const config = readYaml(mounts, '/etc/prometheus/prometheus.yml') as {
    readonly rule_files: readonly string[]
    readonly scrape_configs: readonly {
      readonly static_configs: readonly { readonly targets: readonly string[] }[]
    }[]
  }
  t.same(config.rule_files, [`${rules?.target}/*.yaml`])
  const targets = config.scrape_configs.flatMap((one) => one.static_configs.flatMap((two) => two.targets))
  t.same(targets, ['gateway:9090', 'authorization-server:9091'])
  for (const target of targets) {
    const { environment = {} } = serviceOf(target.split(':')[0] ?? '')
    t.equal(environment['SCOPEGATE_MANAGEMENT__HOST'], '0.0.0.0', target)
    t.equal(`${environment['SCOPEGATE_MANAGEMENT__NAMES']}`, target.split(':')[0], target)
  }
})

t.test('D1: Grafana shows the dashboards of the chart from Prometheus, without accounts', async (t) => {
  const mounts = mountsOf('grafana')
  const { environment = {} } = serviceOf('grafana')
  const provisioning = '/etc/grafana/provisioning'
  const { datasources } = readYaml(mounts, `${provisioning}/datasources/prometheus.yaml`) as {
    readonly datasources: readonly object[]
  }
  const listen = serviceOf('prometheus').command?.find((one) => one.startsWith('--web.listen-address='))
  const port = listen?.split(':').at(-1)
  t.match(
    datasources,
    [{ uid: 'prometheus', type: 'prometheus', isDefault: true, url: `http://prometheus:${port}` }],
    'the data source is the service',
  )
  const { providers } = readYaml(mounts, `${provisioning}/dashboards/scopegate.yaml`) as {
    readonly providers: readonly { readonly type: string; readonly options: { readonly path: string } }[]
  }
  const boards = mounts.find(({ source }) => source === './helm/dashboards')?.target
  t.match(providers, [{ type: 'file', options: { path: boards } }])
  t.equal(environment['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'], `${boards}/overview.json`)
  t.same(DASHBOARDS.map(({ dashboard }) => dashboard.uid).toSorted(), [
    'scopegate-authorization-server',
    'scopegate-overview',
    'scopegate-runtime',
  ])
  t.match(environment, {
    GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
    GF_AUTH_BASIC_ENABLED: 'false',
    GF_AUTH_DISABLE_LOGIN_FORM: 'true',
    GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
  })
})

function mountsOf(name: string): readonly ComposeMount[] {
  return (serviceOf(name).volumes ?? []).map(readComposeMount)
}

/** Reads a YAML file by its path in the container. The file or its folder is mounted read-only. */
function readYaml(mounts: readonly ComposeMount[], path: string): unknown {
  const mount = mounts.find(({ target }) => path === target || path.startsWith(`${target}/`))
  if (mount?.readOnly !== true) throw new Error(`${path} is not mounted read-only`)
  return parse(readFileSync(join(ROOT, mount.source, path.slice(mount.target.length)), 'utf8'))
}
