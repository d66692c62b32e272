import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type SchemaObject } from 'ajv'
import t, { type Test } from 'tap'
import { isMap, isScalar, parse, parseDocument } from 'yaml'
import { DEFAULTS } from '../../gateway/config/defaults.ts'
import { parseDurationMs } from '../../platform/diagnostics/schema/value-formats.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { startChartRenderer, startObjectRenderer } from './chart-renderer.ts'
import { type ChartView, type Component, viewChart } from './chart-view.ts'
import type { Container, KubeObject, NetworkRule } from './kube-object.ts'
import { CHART, find, helm, parseObjects, ROOT, render, renderRelease } from './render-chart.ts'
import { KEY_ERRORS, VALUE_ERRORS } from './value-errors.ts'

/** Time from the end of `drain.grace` to the exit of the process. The process does not wait for connections. */
const LAST_RESORT_SECONDS = 5

const CASES = readdirSync(join(CHART, 'ci')).sort()
const valuesOf = (file: string): readonly string[] => ['--values', join(CHART, 'ci', file)]
/** Renders a file of helm/ci with the code of helm. `helm lint` runs the command itself with each file. */
const renderObjects = startObjectRenderer(t)
const renderCase = (file: string, ...set: readonly string[]) =>
  renderObjects({ release: 'gw', valueFiles: [join(CHART, 'ci', file)], set })
/** The objects for each file of helm/ci. */
const RENDERED = new Map<string, readonly KubeObject[]>()
for (const file of CASES) RENDERED.set(file, await renderCase(file))

t.test(
  'helm lint --strict reports no problem, with the default values and with each file of helm/ci',
  async (t) => {
    for (const args of [[], ...CASES.map(valuesOf)]) {
      const { status, stdout } = helm('lint', '--strict', CHART, ...args)
      t.equal(status, 0, `helm lint --strict ${args.join(' ')}`)
      t.notMatch(stdout, /\[(WARNING|ERROR)\]/)
    }
  },
)

/** Returns the error message of helm. helm must reject the values. */
function rejectionOf(t: Pick<Test, 'not'>, ...values: readonly string[]): string {
  const { status, stderr } = helm('template', 'gw', CHART, ...values.flatMap((one) => ['--set', one]))
  t.not(status, 0, values.join(' '))
  return stderr
}

t.test('helm rejects a value of the wrong type', async (t) => {
  for (const value of [
    'replicaCount=many',
    'extraEnv[0].value=1',
    'gateway.extraEnv[0].value=1',
    'authorizationServer.extraEnv[0].value=1',
    'policies.gitSync.extraEnv[0].value=1',
    'metrics.prometheusRule.objectives.gateway.latency=94',
    'metrics.prometheusRule.objectives.authorizationServer.availability=100',
  ]) {
    t.match(rejectionOf(t, value), /values don't meet the specifications of the schema/, value)
  }
})

t.test('values that cannot work fail with a message that names the value to set', async (t) => {
  const render = startChartRenderer(t, '/nonexistent')
  for (const { set, kubeVersion, says } of [...VALUE_ERRORS, ...KEY_ERRORS]) {
    const { failed } = await render({ release: 'gw', set, kubeVersion, validate: true })
    t.ok(failed?.endsWith(`: ${says}`), `${set.join(' ')} says why`, { failed, says })
  }
  const [first] = VALUE_ERRORS
  if (first === undefined) throw new Error('no error')
  const message = rejectionOf(t, ...first.set)
  t.ok(message.includes(`: ${first.says}\n`), 'the command of helm says the same', { message })
})

t.test('the authorization server issues tokens for the resources of the gateway', async (t) => {
  const resources = [
    { path: '/' },
    { path: '/mcp' },
    { path: '/own', issuers: ['http://127.0.0.1:8080', 'https://x'] },
    { path: '/elsewhere', issuers: ['https://x'] },
  ]
  const read = (...more: readonly string[]): unknown => {
    const json = `gateway.config.resources=${JSON.stringify(resources)}`
    const objects = render('--set-json', json, ...more)
    const { data } = find(objects, 'ConfigMap', 'gw-scopegate-authorization-server-config')
    return parse(data?.['authorization-server.yaml'] ?? '').protectedResources
  }
  t.same(read(), ['/mcp', '/own'])
  t.same(
    read('--set', 'authorizationServer.config.protectedResources={/more,/own,/mcp}'),
    ['/more', '/own', '/mcp'],
    'there may be others',
  )
  t.equal(read('--set', 'gateway.existingConfigMap=own'), undefined)
})

for (const [file, all] of RENDERED) {
  t.test(`helm renders complete and consistent objects for helm/ci/${file}`, async (t) => {
    // The names of extraObjects in helm/ci begin with `extra-`.
    const objects = all.filter(({ metadata }) => !metadata.name.startsWith('extra-'))
    const names = objects.map((object) => `${object.kind}/${object.metadata.name}`)
    t.equal(new Set(names).size, names.length, 'every object has a unique name')
    for (const object of objects) checkObject(t, object)
    for (const deployment of objects.filter((object) => object.kind === 'Deployment')) {
      checkDeployment(t, deployment, objects)
    }
    for (const service of objects.filter((object) => object.kind === 'Service'))
      checkService(t, service, objects)
  })
}

function checkObject(t: Tap, object: KubeObject): void {
  const what = `${object.kind}/${object.metadata.name}`
  // A Role in the namespace of the policies has the namespace of the release in its name.
  const name = object.metadata.name.replace(object.kind.startsWith('Role') ? 'shop.' : '', '')
  t.match(name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, `${what} has a valid Kubernetes name`)
  t.type(object.metadata.namespace, 'string', `${what} has a namespace`)
  t.match(
    object.metadata.labels,
    {
      'helm.sh/chart': /^scopegate-\d/,
      'app.kubernetes.io/name': /./,
      'app.kubernetes.io/instance': 'gw',
      'app.kubernetes.io/component': /^(gateway|authorization-server|canary|test)$/,
      'app.kubernetes.io/part-of': 'scopegate',
      'app.kubernetes.io/version': /^\d/,
      'app.kubernetes.io/managed-by': 'Helm',
    },
    `${what} has the standard labels`,
  )
}

function checkDeployment(t: Tap, deployment: KubeObject, objects: readonly KubeObject[]): void {
  const what = deployment.metadata.name
  const template = deployment.spec?.template
  if (template === undefined) throw new Error(`${what} has no pod template`)
  t.match(
    template.metadata.labels,
    deployment.spec?.selector?.matchLabels ?? { none: 'none' },
    `${what} selects its pods`,
  )
  const [container] = template.spec.containers
  if (container === undefined) throw new Error(`${what} has no container`)
  t.equal(container.resources?.limits?.['cpu'], undefined, `${what} has no CPU limit`)
  t.match(container.env?.find((one) => one.name === 'NODE_OPTIONS')?.value, /^--max-old-space-size=\d+$/)
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
    const port = probe?.httpGet.port
    t.ok(
      container.ports?.some((one) => one.name === port),
      `${what} is probed on an existing port: ${port}`,
    )
  }
  t.equal(container.startupProbe?.httpGet.path, '/livez')
  t.equal(container.livenessProbe?.httpGet.path, '/livez')
  t.equal(container.readinessProbe?.httpGet.path, '/readyz')
  const sleep = container.lifecycle?.preStop?.sleep?.seconds ?? 0
  t.ok(
    sleep + graceSecondsOf(objects) + LAST_RESORT_SECONDS <=
      (template.spec.terminationGracePeriodSeconds ?? 0),
    `${what} has time to drain after its preStop sleep`,
  )
  const { containers, initContainers = [] } = template.spec
  const volumes = template.spec.volumes?.map((volume) => volume.name)
  const mounted = [...containers, ...initContainers].flatMap(({ volumeMounts = [] }) =>
    volumeMounts.map((mount) => mount.name),
  )
  // Another program can mount a volume of helm/ci whose name begins with `extra-`.
  t.strictSame(
    new Set([...mounted, ...(volumes?.filter((name) => name.startsWith('extra-')) ?? [])].toSorted()),
    new Set(volumes?.toSorted()),
    `${what} mounts its volumes`,
  )
  t.notOk(
    container.volumeMounts?.some((mount) => mount.subPath !== undefined),
    `${what} mounts no subPath`,
  )
  for (const volume of template.spec.volumes ?? []) {
    for (const { configMap, secret } of volume.projected?.sources ?? [{ configMap: volume.configMap }]) {
      if (configMap?.name?.startsWith('gw-') === true) find(objects, 'ConfigMap', configMap.name)
      if (secret?.name?.startsWith('gw-') === true) {
        const issued = objects.some(
          ({ kind, spec }) => kind === 'Certificate' && spec?.secretName === secret.name,
        )
        const keys = issued
          ? ['tls.crt', 'tls.key']
          : Object.keys(find(objects, 'Secret', secret.name).data ?? {})
        for (const item of secret.items ?? [])
          t.ok(keys.includes(item.key), `${what}: ${secret.name} has ${item.key}`)
      }
    }
  }
}

/** Returns the setting `drain.grace` of the gateway. The grace period of the authorization server is not longer. */
function graceSecondsOf(objects: readonly KubeObject[]): number {
  const text = objects.map(({ data }) => data?.['gateway.yaml']).find((one) => one !== undefined)
  const set: unknown = text === undefined ? undefined : parse(text).drain?.grace
  return (parseDurationMs(typeof set === 'string' ? set : DEFAULTS.drain.grace) ?? Number.NaN) / 1_000
}

function checkService(t: Tap, service: KubeObject, objects: readonly KubeObject[]): void {
  const selector = service.spec?.selector as Readonly<Record<string, string>>
  const pods = objects.filter((object) =>
    Object.entries(selector).every(([key, value]) => object.spec?.template?.metadata.labels?.[key] === value),
  )
  t.equal(pods.length, 1, `${service.metadata.name} selects the pods of one Deployment`)
  const ports = pods[0]?.spec?.template?.spec.containers.flatMap((container) => container.ports ?? []) ?? []
  for (const port of service.spec?.ports ?? []) {
    t.ok(
      ports.some((one) => one.name === port.targetPort),
      `${service.metadata.name}: its pods have a port ${port.targetPort}`,
    )
  }
}

t.test('the network policies allow exactly the ports that the configuration opens or dials', async (t) => {
  for (const file of CASES) {
    const objects = await renderCase(file, 'networkPolicy.enabled=true')
    const chart = viewChart(objects)
    for (const policy of objects.filter(({ kind }) => kind === 'NetworkPolicy')) {
      const component = policy.metadata.labels?.['app.kubernetes.io/component'] as Component
      const what = `${file}: ${component}`
      const ports = chart.container(component).ports ?? []
      const config = component === 'canary' ? {} : chart.config(component)
      const opened =
        component === 'canary'
          ? [CANARY_PORT]
          : [config['listen'], config['management'], (config['decisions'] as Decisions)?.listen].flatMap(
              (one) => (one === undefined ? [] : [(one as { port: number }).port]),
            )
      const allowed = policy.spec?.ingress?.flatMap((rule) => rule.ports ?? []) ?? []
      t.strictSame(
        allowed.map(({ port }) => ports.find(({ name }) => name === port)?.containerPort ?? port),
        opened,
        `${what}: opened ports`,
      )
      const redis = objects.find(({ kind, data }) => kind === 'Secret' && data?.['redis-url'] !== undefined)
      const usesRedis = chart.env(component, 'REDIS_URL') !== undefined
      const dialled = [
        ...findPorts(config),
        ...(component === 'gateway' ? findPorts(chart.config('gateway', 'upstreams.yaml')) : []),
        ...findPorts(chart.container(component).env),
        ...(component === 'canary' ? findCanaryPorts(chart.container(component).args ?? []) : []),
        ...(chart.pod(component).initContainers ?? []).flatMap(findGitPorts),
        ...(usesRedis ? findPorts(Buffer.from(redis?.data?.['redis-url'] ?? '', 'base64').toString()) : []),
        ...findUnwrittenPorts(file, component, chart),
        ...(component === 'authorization-server' && 'registration' in config ? [443] : []),
      ]
      const egress = policy.spec?.egress?.slice(1).flatMap((rule) => rule.ports ?? []) ?? []
      t.strictSame(
        new Set(egress.map(({ port }) => port).toSorted()),
        new Set(dialled.toSorted()),
        `${what}: dialled ports`,
      )
    }
  }
})

/** Default of --management-port of `scopegate canary`. */
const CANARY_PORT = 9092

/** Returns the ports of the addresses that `scopegate canary` connects to. */
function findCanaryPorts(args: readonly string[]): readonly number[] {
  const optionOf = (name: string) => args[args.indexOf(`--${name}`) + 1]
  const issuer = args.includes('--issuer-address') ? optionOf('issuer-address') : optionOf('issuer')
  return findPorts([issuer, optionOf('gateway-service')])
}

/** Returns the ports that only the values of a file contain: of Redis, of the Kubernetes API, and of further rules. */
function findUnwrittenPorts(file: string, component: Component, chart: ChartView): readonly number[] {
  const { redis, gatewayRedis, networkPolicy, policies } = parse(
    readFileSync(join(CHART, 'ci', file), 'utf8'),
  ) as PolicyValues
  const isGateway = component === 'gateway'
  if (component === 'canary') return []
  const { store } = chart.config(component) as { store?: { type: string } }
  const isHidden = (one: RedisValues = {}) => 'existingSecret' in one || 'sentinel' in one || 'cluster' in one
  const usesRedis = isGateway || store?.type === 'redis'
  const own = networkPolicy?.[isGateway ? 'gateway' : 'authorizationServer']?.extraEgress ?? []
  return [
    ...((usesRedis && isHidden(redis)) || (isGateway && isHidden(gatewayRedis))
      ? (networkPolicy?.redisPorts ?? [6379])
      : []),
    ...(isGateway && policies?.sources?.some((one) => 'selector' in one) === true ? [443, 6443] : []),
    ...own.flatMap(({ ports = [] }) => ports.map(({ port }) => Number(port))),
  ]
}

/** Returns the ports of the repository that a sidecar fetches, and of its proxy. */
function findGitPorts({ env = [] }: Container): readonly number[] {
  const repository = env.find(({ name }) => name === 'GITSYNC_REPO')?.value
  if (repository === undefined) return []
  const { protocol, port } = URL.parse(repository) ?? { protocol: 'ssh:', port: '' }
  const others = env.filter(({ name }) => name !== 'GITSYNC_REPO')
  return [port === '' ? (protocol === 'https:' ? 443 : 22) : Number(port), ...findPorts(others)]
}

type Decisions = { readonly listen: object } | undefined
type RedisValues = { readonly [key: string]: unknown }
type PolicyValues = {
  readonly redis?: RedisValues
  readonly gatewayRedis?: RedisValues
  readonly networkPolicy?: {
    readonly redisPorts?: readonly number[]
    readonly gateway?: { readonly extraEgress?: readonly NetworkRule[] }
    readonly authorizationServer?: { readonly extraEgress?: readonly NetworkRule[] }
  }
  readonly policies?: { readonly sources?: readonly object[] }
}

/** Returns the ports of all addresses in a configuration, except the public addresses of Scopegate itself. */
function findPorts(value: unknown, own: readonly unknown[] = []): readonly number[] {
  if (typeof value === 'string') {
    const port =
      /^(?:\w+:\/\/)?[\w.@:-]*:(\d+)(?:\/|$)/.exec(value)?.[1] ??
      DEFAULT_PORTS.get(/^\w+(?=:\/\/)/.exec(value)?.[0] ?? '')
    return port === undefined || own.includes(value) ? [] : [Number(port)]
  }
  if (typeof value !== 'object' || value === null) return []
  const { baseUrl, ...rest } = value as Readonly<Record<string, unknown>>
  const isServer = 'gatewayClient' in rest
  const issuer = isServer
    ? rest['issuer']
    : (rest['issuers'] as undefined | { issuer: string; revocations?: string }[])
  const bundled = Array.isArray(issuer)
    ? issuer.filter((one) => one.revocations).map((one) => one.issuer)
    : [issuer]
  return Object.values(rest).flatMap((child) => findPorts(child, [...own, baseUrl, ...bundled]))
}

const DEFAULT_PORTS = new Map([
  ['http', 80],
  ['https', 443],
  ['redis', 6379],
  ['rediss', 6379],
  ['postgres', 5432],
])

t.test('the gateway connects to the address and port of the authorization server of the chart', async (t) => {
  const objects = render()
  const config = parse(find(objects, 'ConfigMap', 'gw-scopegate-config').data?.['gateway.yaml'] ?? '')
  const upstreams = parse(find(objects, 'ConfigMap', 'gw-scopegate-config').data?.['upstreams.yaml'] ?? '')
  for (const address of [
    config.issuers[0].introspection.endpoint,
    config.issuers[0].revocations,
    upstreams['authorization-server'].url,
  ]) {
    const { hostname, port } = new URL(address)
    const service = find(objects, 'Service', hostname)
    const listed = service.spec?.ports?.find((one) => one.port === Number(port))
    t.equal(listed?.targetPort, 'http', address)
  }
})

t.test('each monitor scrapes the management port of each pod exactly once', async (t) => {
  const values = join(CHART, 'ci', 'canary-values.yaml') // enables the PodMonitor
  const objects = render('--values', values, '--set', 'metrics.serviceMonitor.enabled=true')
  const ofKind = (kind: string) => objects.filter((one) => one.kind === kind)
  const selects = (selector: object = {}, labels: Readonly<Record<string, string>> = {}): boolean =>
    Object.entries(selector).every(([label, value]) => labels[label] === value)
  const isMonitored = (kind: string, labels: Readonly<Record<string, string>> | undefined): boolean =>
    ofKind(kind).some(({ spec }) => selects(spec?.selector?.matchLabels, labels))
  const deployments = ofKind('Deployment').map(({ spec }) => spec?.template)
  t.equal(deployments.length, 3)
  for (const pod of deployments) {
    const labels = pod?.metadata.labels
    const names = pod?.spec.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name)) ?? []
    const ports = names.filter((name) => name === 'management')
    t.equal(ports.length, 1)
    t.ok(isMonitored('PodMonitor', labels))
    const services = ofKind('Service').filter(
      ({ spec, metadata }) =>
        selects(spec?.selector, labels) && isMonitored('ServiceMonitor', metadata.labels),
    )
    const targets = services.flatMap(
      ({ spec }) => spec?.ports?.filter(({ name }) => name === 'management') ?? [],
    )
    t.match(targets, [{ targetPort: 'management' }])
    t.equal(targets.length, 1)
  }
})

t.test('a changed start-up setting replaces only the pods of its service', async (t) => {
  const fixed = [
    '--set',
    'authorizationServer.gatewayClient.existingSecret=a',
    '--set',
    'authorizationServer.cookieSecret.existingSecret=b',
  ]
  const podsOf = (...args: readonly string[]) => {
    const objects = render(...fixed, ...args)
    return ['gw-scopegate', 'gw-scopegate-authorization-server'].map(
      (name) => find(objects, 'Deployment', name).spec?.template,
    )
  }
  const before = podsOf()
  t.strictSame(podsOf(), before, 'without a change, no pod is replaced')
  const policies = ['--set', 'policies.inline.a\\.policy\\.yaml=x']
  t.strictSame(podsOf(...policies), before, 'policies: no pods, because running pods reload them')
  const cold = ['--set', 'policies.reload=restart']
  t.notSame(podsOf(...cold, ...policies)[0], podsOf(...cold)[0], 'policies, if that is wanted: the gateway')
  t.strictSame(podsOf(...cold, ...policies)[1], before[1], 'policies: not the authorization server')
  t.notSame(podsOf('--set', 'upstreams.a.url=http://a')[0], before[0], 'upstreams: the gateway')
  t.strictSame(
    podsOf('--set', 'upstreams.a.url=http://a')[1],
    before[1],
    'upstreams: not the authorization server',
  )
  t.notSame(podsOf('--set', 'gateway.name=Other')[1], before[1], 'the name: the authorization server')
  const redis = (url: string) => podsOf('--set', `redis.url=${url}`)[1]
  t.notSame(redis('redis://a'), redis('redis://b'), 'the address of Redis: the authorization server')
})

/** The values of the chart in the guides. */
const VALUES_OF_GUIDES = [
  documentedBlock('docs/alerts.md', 'metrics:'),
  documentedBlock('docs/authenticate-at-upstreams.md', 'gateway:'),
  documentedBlock('docs/canary.md', 'enabled: true'),
  documentedBlock('docs/gitops.md', '# values.yaml'),
  documentedBlock('docs/install.md', 'replicaCount: 2'),
  documentedBlock('docs/install.md', 'policies:'),
  documentedBlock('docs/install.md', 'trustedProxies: [10.0.0.0/8] # the addresses of th'),
  documentedBlock('docs/install.md', 'tls: { existingSecret: api-example-org-tls }'),
  documentedBlock('docs/install.md', 'certificate:'),
  documentedBlock('docs/install.md', 'enabled: false # omit this line to accept also the'),
  documentedBlock('docs/install.md', 'podSecurityContext: { runAsUser: null, runAsGroup:'),
  documentedBlock('docs/policy-sources.md', 'policies:'),
  documentedBlock('docs/read-policies-from-git.md', 'git:'),
  documentedBlock('docs/read-policies-from-git.md', 'name: HTTPS_PROXY'),
  documentedBlock('docs/read-policies-from-git.md', 'gateway:'),
  documentedBlock('docs/read-policies-from-git.md', 'oci:'),
  documentedBlock('docs/several-clusters.md', '# values of the first cluster'),
  documentedBlock('docs/several-clusters.md', '# values of each further cluster'),
  documentedBlock('docs/several-clusters.md', 'baseUrl: https://eu.example.org'),
  documentedBlock('docs/sign-in-with-a-provider.md', 'authorizationServer:'),
  documentedBlock('docs/store-grants-in-postgresql.md', 'replicaCount: 2'),
  documentedBlock('docs/tracing.md', 'endpoint: http://otel-collector.observability:4318'),
]

t.test('the chart renders the values of the guides', async (t) => {
  const file = join(t.testdir(), 'values.yaml')
  for (const block of VALUES_OF_GUIDES) {
    writeFileSync(file, block.replaceAll('DIGEST', '0'.repeat(64)))
    const { authorizationServer } = parse(block) as { authorizationServer?: { enabled?: boolean } }
    // A block shows only the values of its subject. The chart also requires an https URL for certificates, and policies
    // without the authorization server.
    const { status, stderr } = helm(
      ...['template', 'gw', CHART, '--set', 'gateway.baseUrl=https://api.example.org', '--values', file],
      ...(authorizationServer?.enabled === false ? ['--set', 'policies.existingClaim=policies'] : []),
    )
    t.equal(status, 0, block, { stderr })
  }
})

t.test('the chart builds the deployments that docs/faults.md and docs/storage.md describe', async (t) => {
  const sourceValues = valuesOf('policy-sources-values.yaml')
  const chart = viewChart(render())
  const { workers, dataDir } = chart.config('gateway')
  t.same([workers, dataDir], [undefined, undefined], 'one process, without a data folder')
  t.equal(viewChart(render(...sourceValues)).config('gateway')['dataDir'], '/tmp/scopegate')
  for (const component of ['gateway', 'authorization-server'] as const) {
    const container = chart.container(component)
    t.equal(container.resources?.limits?.['memory'], '384Mi')
    t.equal(container.lifecycle?.preStop?.sleep?.seconds, 10)
    t.equal(chart.pod(component).terminationGracePeriodSeconds, 45)
    t.match(container.livenessProbe, { periodSeconds: 10, failureThreshold: 3 })
    t.equal(chart.object('Deployment', component).spec?.replicas, 1)
  }
  const server = (...files: readonly string[]) => {
    const view = viewChart(render(...files.flatMap(valuesOf)))
    const { store } = view.config('authorization-server')
    const strategy = view.object('Deployment', 'authorization-server').spec?.strategy?.type
    return { store, strategy, data: view.volume('authorization-server', 'data') }
  }
  const [onSqlite, onRedis, onPostgres] = [
    server(),
    server('redis-values.yaml'),
    server('postgres-values.yaml'),
  ]
  t.match(onSqlite, { store: { type: 'sqlite' }, strategy: 'Recreate', data: { emptyDir: {} } })
  t.match(onRedis, { store: { type: 'redis' }, strategy: 'RollingUpdate' })
  t.match(onPostgres, { store: { type: 'postgres' }, strategy: 'RollingUpdate' }, 'with redis: gateways only')
})

t.test('running pods reload changed policies, unless the chart is set to restart the pods', async (t) => {
  const configOf = (...args: readonly string[]) =>
    parse(find(render(...args), 'ConfigMap', 'gw-scopegate-config').data?.['gateway.yaml'] ?? '')
  t.equal(configOf().policyReload, undefined, 'which is to watch')
  t.equal(configOf('--set', 'policies.reload=hot').policyReload, undefined)
  t.equal(configOf('--set', 'policies.reload=restart').policyReload, 'manual')
  t.throws(() => render('--set', 'policies.reload=warm'), /policies\.reload|reload/)
})

t.test(
  'the management port of both services accepts the names of its Service in the Host header',
  async (t) => {
    for (const [file, objects] of RENDERED) {
      for (const service of objects.filter((object) => object.kind === 'Service')) {
        const { name, namespace } = service.metadata
        // Prometheus reads the canary by its IP address.
        if (/-(?:canary|gateways)$/.test(name)) continue
        const config = find(objects, 'ConfigMap', `${name}-config`).data ?? {}
        const { names } = parse(
          config['gateway.yaml'] ?? config['authorization-server.yaml'] ?? '',
        ).management
        t.ok(names.includes(name), `${file}: ${name}`)
        t.ok(names.includes(`${name}.${namespace}.svc`), `${file}: ${name}.${namespace}.svc`)
      }
    }
  },
)

t.test(
  'the gateway uses the Redis of the authorization server, or redis.url without this server',
  async (t) => {
    const addressOf = (...args: readonly string[]) => {
      const objects = render(...args)
      const [container] = find(objects, 'Deployment', 'gw-scopegate').spec?.template?.spec.containers ?? []
      const from = container?.env?.find((one) => one.name === 'REDIS_URL')?.valueFrom?.secretKeyRef
      if (from?.name === 'gw-scopegate-redis') find(objects, 'Secret', from.name)
      return from
    }
    t.equal(addressOf(), undefined)
    t.same(addressOf(...valuesOf('redis-values.yaml')), { name: 'gw-scopegate-redis', key: 'redis-url' })
    const alone = valuesOf('external-issuer-values.yaml')
    t.same(addressOf(...alone, '--set', 'redis.url=redis://redis'), {
      name: 'gw-scopegate-redis',
      key: 'redis-url',
    })
    t.same(addressOf(...alone, '--set', 'redis.existingSecret=own'), { name: 'own', key: 'redis-url' })
  },
)

t.test('the gateways receive revocations through the Redis of the authorization server', async (t) => {
  const objects = render(...valuesOf('redis-values.yaml'))
  const read = (name: string, file: string) => parse(find(objects, 'ConfigMap', name).data?.[file] ?? '')
  const server = read('gw-scopegate-authorization-server-config', 'authorization-server.yaml')
  const gateway = read('gw-scopegate-config', 'gateway.yaml')
  t.match(server, { store: { type: 'redis' } }, 'the authorization server writes revocations to Redis')
  t.match(gateway.issuers, [{ issuer: server.issuer, revocations: /\/internal\/revocations$/ }])
  const addresses = ['gw-scopegate', 'gw-scopegate-authorization-server'].map((name) => {
    const [container] = find(objects, 'Deployment', name).spec?.template?.spec.containers ?? []
    return container?.env?.find((one) => one.name === 'REDIS_URL')?.valueFrom?.secretKeyRef
  })
  t.ok(addresses[0])
  t.same(addresses[0], addresses[1])
})

t.test('only a Secret contains the password of redis.url', async (t) => {
  const { stdout } = helm('template', 'gw', CHART, '--set', 'redis.url=redis://:hunter2@redis:6379')
  t.notMatch(stdout, /hunter2/, 'nowhere in the clear')
  const secret = find(parseObjects(stdout), 'Secret', 'gw-scopegate-redis')
  t.equal(Buffer.from(secret.data?.['redis-url'] ?? '', 'base64').toString(), 'redis://:hunter2@redis:6379')
})

t.test('generated secrets are long, helm keeps them, and both pods use the same secret', async (t) => {
  const objects = render()
  const secrets = objects.filter((object) => object.kind === 'Secret')
  t.equal(secrets.length, 2)
  for (const secret of secrets) {
    t.equal(secret.metadata.annotations?.['helm.sh/resource-policy'], 'keep', secret.metadata.name)
    for (const value of Object.values(secret.data ?? {})) {
      t.match(Buffer.from(value, 'base64').toString(), /^[A-Za-z0-9]{48}$/, secret.metadata.name)
    }
  }
})

t.test('the checksum of a pod covers only the generated Secrets that the pod uses', async (t) => {
  const checkSums = (store: readonly string[], used: Record<string, readonly string[]>) => {
    const objects = render('--set', 'redis.url=redis://redis:6379', ...store)
    for (const [name, secrets] of Object.entries(used)) {
      const { annotations } = find(objects, 'Deployment', name).spec?.template?.metadata ?? {}
      const data = secrets.map((secret) => find(objects, 'Secret', `gw-scopegate-${secret}`).data)
      const sum = createHash('sha256').update(JSON.stringify(data)).digest('hex')
      t.equal(annotations?.['checksum/secrets'], sum, `${name}: ${secrets.join()}`)
    }
  }
  checkSums([], {
    'gw-scopegate': ['gateway-client', 'redis'],
    'gw-scopegate-authorization-server': ['gateway-client', 'cookie-keys', 'redis'],
  })
  checkSums(['--set', 'postgres.url=postgres://scopegate@db/scopegate'], {
    'gw-scopegate': ['gateway-client', 'redis'],
    'gw-scopegate-authorization-server': ['gateway-client', 'cookie-keys'],
  })
})

t.test('a name of digits, or a word with a meaning in YAML, is a text in each object', async (t) => {
  const text = (values: object, ...args: readonly string[]) => {
    const file = join(t.testdir({ 'values.json': JSON.stringify(values) }), 'values.json')
    return [
      ...render('--values', file),
      ...args.flatMap((name) => renderRelease(name, '--namespace', name, '--set', 'fullnameOverride=gw')),
    ]
  }
  for (const name of ['1234', 'on']) {
    const secret = { existingSecret: name, existingSecretKey: name }
    const objects = text(
      {
        namespaceOverride: name,
        ...{
          redis: { ...secret },
          postgres: { url: 'postgres://s@db/s', existingSecret: name, caSecret: name },
        },
        ...{ canary: { enabled: true, path: '/a', scopes: ['openid'], caSecret: name, ...secret } },
        ...{ tracing: { endpoint: 'http://c:4318', headers: { existingSecret: name, key: name } } },
        ...{ gateway: { assertion: secret, authorities: { existingConfigMap: name } } },
      },
      name,
    )
    const others: string[] = []
    const visit = (value: unknown, path: string): void => {
      if (typeof value === 'object' && value !== null)
        for (const [key, child] of Object.entries(value)) visit(child, `${path}/${key}`)
      else if (value === Number(name) || (value === true && /name|key|instance/i.test(path)))
        others.push(path)
    }
    for (const object of objects) visit(object, object.kind)
    t.strictSame(others, [], name)
  }
})

t.test('the ConfigMap keeps an inline policy whose lines are indented', async (t) => {
  const text = '  apiVersion: scopegate/v1\n  kind: Policy\n'
  const values = JSON.stringify({ policies: { inline: { 'a.policy.yaml': text } } })
  const file = join(t.testdir({ 'values.json': values }), 'values.json')
  const { data } = find(render('--values', file), 'ConfigMap', 'gw-scopegate-policies')
  t.strictSame(parse(data?.['a.policy.yaml'] ?? ''), { apiVersion: 'scopegate/v1', kind: 'Policy' })
})

t.test('the heap is three quarters of the memory limit', async (t) => {
  const heapAt = (limit: string) => {
    const objects = render('--set', `resources.limits.memory=${limit}`)
    const [container] = find(objects, 'Deployment', 'gw-scopegate').spec?.template?.spec.containers ?? []
    return container?.env?.find((one) => one.name === 'NODE_OPTIONS')?.value
  }
  t.equal(heapAt('384Mi'), '--max-old-space-size=288')
  t.equal(heapAt('1Gi'), '--max-old-space-size=768')
  t.equal(heapAt('1.5Gi'), '--max-old-space-size=1152')
  t.equal(heapAt('1G'), '--max-old-space-size=715')
  t.equal(heapAt('2147483648'), '--max-old-space-size=1536')
  const file = join(
    t.testdir({ 'values.json': '{"resources":{"limits":{"memory":2147483648}}}' }),
    'values.json',
  )
  const { stdout } = helm('template', 'gw', CHART, '--values', file)
  t.match(stdout, '--max-old-space-size=1536', 'a number in a file')
  t.equal(heapAt('null'), undefined)
})

t.test(
  'strict.schema.json and values.yaml name the same keys, and the defaults satisfy the schema',
  async (t) => {
    const schema: SchemaObject = JSON.parse(readFileSync(join(CHART, 'strict.schema.json'), 'utf8'))
    const values: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'))
    const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema)
    t.ok(validate(values), 'the defaults are valid', { errors: validate.errors })
    compareKeys(t, schema, values, 'values')
  },
)

t.test('the gateway accepts the bundled issuer and every issuer of the list', async (t) => {
  const issuersOf = (...args: readonly string[]): unknown => {
    const { data } = find(render(...args), 'ConfigMap', 'gw-scopegate-config')
    return parse(data?.['gateway.yaml'] ?? '').issuers
  }
  const server = 'http://gw-scopegate-authorization-server:8081'
  const bundled = (issuer: string, introspection: object = {}) => ({
    issuer,
    introspection: {
      endpoint: `${server}/api/oauth/introspect`,
      clientId: 'gateway',
      clientSecretFile: '/etc/scopegate/secrets/gateway-client-secret',
      ...introspection,
    },
    revocations: `${server}/internal/revocations`,
  })
  t.strictSame(issuersOf(), [bundled('http://127.0.0.1:8080')])
  t.strictSame(issuersOf(...valuesOf('several-issuers-values.yaml')), [
    bundled('https://api.example.org', { timeout: '1s' }),
    {
      issuer: 'https://partner.example.net',
      introspection: {
        endpoint: 'https://partner.example.net/introspect',
        clientId: 'api-gateway',
        clientSecretFile: '/etc/scopegate/secrets/issuer-0-client-secret',
        ttl: '5s',
      },
    },
    { issuer: 'https://login.example.org', caFile: '/etc/scopegate/authorities/internal.pem', jwt: {} },
  ])
  t.strictSame(issuersOf(...valuesOf('jwt-issuer-values.yaml')), [
    {
      issuer: 'https://login.example.org',
      jwt: { algorithms: ['RS256'], type: 'JWT', audience: ['api://books'] },
    },
  ])
})

t.test('extraEnv reaches the component that it is set for', async (t) => {
  const envOf = (name: string) => {
    const { spec } = find(render(...valuesOf('pods-values.yaml')), 'Deployment', name)
    return spec?.template?.spec.containers[0]?.env?.map((one) => [one.name, one.value])
  }
  const own = [['SCOPEGATE_CONFIG_DIR', '/etc/scopegate/config']]
  t.strictSame(envOf('edge'), [
    ...own,
    ['NODE_OPTIONS', '--max-old-space-size=288'],
    ['SCOPEGATE_TOKEN_CACHE__MAX_ENTRIES', '5000'],
  ])
  t.strictSame(envOf('edge-authorization-server'), [
    ...own,
    ['NODE_OPTIONS', '--max-old-space-size=768'],
    ['SCOPEGATE_LIFETIMES__CODE', '30s'],
  ])
})

t.test('only policy sources have optional Secrets and ConfigMaps', async (t) => {
  for (const [file, objects] of RENDERED) {
    const pods = objects.flatMap(({ spec }) => spec?.template?.spec ?? [])
    const references = pods.flatMap(({ volumes = [], containers, initContainers = [] }) => [
      ...volumes.flatMap(({ name, secret, configMap, projected }) =>
        [secret, configMap, ...(projected?.sources.flatMap((one) => [one.secret, one.configMap]) ?? [])].map(
          (one) => ({ name, one }),
        ),
      ),
      ...[...containers, ...initContainers].flatMap(({ env = [] }) =>
        env.map(({ name, valueFrom }) => ({ name, one: valueFrom?.secretKeyRef })),
      ),
    ])
    for (const { name, one } of references)
      if (one !== undefined)
        t.equal(
          (one as { optional?: boolean }).optional === true,
          /^source-\d+(-secret)?$/.test(name),
          `${file}: ${name}`,
        )
  }
})

t.test('each ConfigMap of policies has a separate folder', async (t) => {
  const mountsOf = (...args: readonly string[]) => {
    const pod = find(render(...args), 'Deployment', 'gw-scopegate').spec?.template?.spec
    return pod?.containers[0]?.volumeMounts
      ?.filter((one) => one.mountPath.startsWith('/etc/scopegate/policies'))
      .map(({ name, mountPath }) => {
        const { name: _, ...source } = pod.volumes?.find((volume) => volume.name === name) ?? {}
        return [mountPath, source]
      })
  }
  t.strictSame(mountsOf(...valuesOf('policies-values.yaml')), [
    ['/etc/scopegate/policies/gw-scopegate-policies', { configMap: { name: 'gw-scopegate-policies' } }],
    ['/etc/scopegate/policies/team-orders-policies', { configMap: { name: 'team-orders-policies' } }],
    ['/etc/scopegate/policies/team-posts.policies', { configMap: { name: 'team-posts.policies' } }],
  ])
  t.strictSame(mountsOf(...valuesOf('policy-sources-values.yaml')), [
    ['/etc/scopegate/policies/books', { configMap: { name: 'team-books-policies', optional: true } }],
    ['/etc/scopegate/policies/orders', { configMap: { name: 'team-orders-policies', optional: true } }],
  ])
  t.strictSame(mountsOf(...valuesOf('existing-values.yaml')), [
    ['/etc/scopegate/policies', { persistentVolumeClaim: { claimName: 'own-policies', readOnly: true } }],
  ])
})

t.test('the gateway mounts the client secret of each issuer with introspection', async (t) => {
  const secretsOf = (...args: readonly string[]) => {
    const { spec } = find(render(...args), 'Deployment', 'gw-scopegate')
    const volume = spec?.template?.spec.volumes?.find((one) => one.name === 'secrets')
    return volume?.projected?.sources.map(({ secret }) => [secret?.name, secret?.items])
  }
  t.strictSame(secretsOf(...valuesOf('several-issuers-values.yaml')), [
    ['gw-scopegate-gateway-client', [{ key: 'client-secret', path: 'gateway-client-secret' }]],
    ['partner-client', [{ key: 'password', path: 'issuer-0-client-secret' }]],
  ])
  t.strictSame(secretsOf(...valuesOf('external-issuer-values.yaml')), [
    ['own-client', [{ key: 'client-secret', path: 'issuer-0-client-secret' }]],
  ])
  t.equal(secretsOf(...valuesOf('jwt-issuer-values.yaml')), undefined, 'JWTs need no secret')
  const kinds = render(...valuesOf('jwt-issuer-values.yaml')).map(({ kind }) => kind)
  t.notOk(kinds.includes('Secret'), 'the chart generates no secret that nothing reads')
})

/**
 * Checks that values.yaml and the schema describe the same keys. A key can have no default if the key is deprecated or
 * a part of user-defined content.
 */
function compareKeys(t: Tap, schema: SchemaObject, value: unknown, path: string): void {
  const properties: Readonly<Record<string, SchemaObject>> | undefined = schema['properties']
  if (properties === undefined || value === null || typeof value !== 'object') return
  const optional = [
    ...['limits', 'requests', 'claims', 'initialDelaySeconds', 'successThreshold'],
    ...['request', 'backendRequest'],
  ]
  const described = Object.entries(properties).flatMap(([key, child]) =>
    key in value || (!optional.includes(key) && child['deprecated'] !== true) ? [key] : [],
  )
  const keys = Object.keys(value)
  // The user defines all keys of a map that is empty by default.
  if (keys.length > 0) t.strictSame(keys.toSorted(), described.toSorted(), path)
  if (path !== 'values.global') t.equal(schema['additionalProperties'], false, `${path} rejects unknown keys`)
  for (const [key, child] of Object.entries(value))
    compareKeys(t, properties[key] ?? {}, child, `${path}.${key}`)
}

t.test('every key of values.yaml has a comment that explains it', async (t) => {
  const document = parseDocument(readFileSync(join(CHART, 'values.yaml'), 'utf8'))
  const isExplained = (comment: string | null | undefined): boolean => /^ -- /m.test(comment ?? '')
  const findUnexplained = (map: unknown, path: string): readonly string[] => {
    if (!isMap(map)) return [path]
    return map.items.flatMap(({ key, value }, at) => {
      if (!isScalar(key)) return []
      // The YAML parser attaches the comment above the first key to the map, not to the key.
      if (isExplained(key.commentBefore) || (at === 0 && isExplained(map.commentBefore))) return []
      return findUnexplained(value, `${path}.${key.value}`)
    })
  }
  t.strictSame(findUnexplained(document.contents, 'values'), [])
})

t.test('the chart and the npm package have the same version and licence', async (t) => {
  const chart = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.equal(chart.version, manifest.version)
  t.equal(chart.appVersion, manifest.version)
  t.equal(chart.annotations['artifacthub.io/license'], manifest.license)
})

type Tap = Pick<typeof t, 'ok' | 'notOk' | 'equal' | 'match' | 'strictSame' | 'type'>
