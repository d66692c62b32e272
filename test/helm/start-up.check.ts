import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeSigningKeys } from '../../authorization-server/keys/signing-keys.ts'
import { aCertificate } from '../fixtures/a-certificate.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { findMetricUses, metricOfSeries, readDocumentedMetrics } from '../fixtures/metric-uses.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { spawnRedis } from '../fixtures/redis-process.ts'
import { writeTlsFiles } from '../fixtures/redis-tls.ts'
import { listRepositoryFiles, readRepositoryFile } from '../fixtures/repository-texts.ts'
import { until } from '../fixtures/until.ts'
import { readImage } from './image.ts'
import { inNamespaces } from './in-namespaces.ts'
import type { KubeObject, PodSpec } from './kube-object.ts'
import { type Cluster, type Pod, startPod } from './pod.ts'
import { CHART, find, ROOT, render } from './render-chart.ts'

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const

/** Folders whose files contain expressions with metrics. */
const FOLDERS = ['helm/alerts', 'helm/dashboards', 'docs/runbooks']

/** Stands for a JWK Set of private signing keys. */
const KEYS = 'signing keys'
const CLIENT_SECRET = 'a-client-secret-of-sufficient-length-0123456789'

type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>
/** Values files whose services start without another service, except PostgreSQL and Redis. */
const STARTED: readonly {
  readonly file: string
  readonly secrets?: Secrets
  readonly configMaps?: readonly string[]
  readonly claims?: readonly string[]
  /** Starts Redis or PostgreSQL, and returns further Secrets. */
  readonly start?: (t: Test) => Promise<Secrets>
}[] = [
  { file: 'authorization-server' },
  { file: 'branding' },
  { file: 'client-certificate-header' },
  { file: 'external-issuer', secrets: { 'own-client': { 'client-secret': CLIENT_SECRET } } },
  { file: 'hosted-agents' },
  { file: 'lifetimes' },
  { file: 'second-factor', claims: ['scopegate-data'] },
  { file: 'jwt-tokens', secrets: { 'signing-keys': { 'jwks.json': KEYS } } },
  // Without a repository. The sidecars do not run.
  { file: 'policy-git' },
  { file: 'policy-sources', configMaps: ['team-books-policies', 'team-orders-policies'] },
  {
    file: 'redis-existing-secret',
    secrets: { 'redis-connection': { uri: 'redis://redis:6379' } },
    start: startRedis,
  },
  { file: 'redis-client-certificate', start: startRedisWithTls },
  {
    file: 'postgres',
    secrets: { 'signing-keys': { 'jwks.json': KEYS } },
    start: async (t) => {
      await startRedis(t)
      return startPostgresWithTls(t)
    },
  },
  { file: 'sign-in-provider', secrets: { 'company-login': { 'client-secret': CLIENT_SECRET } } },
]

/** Names of the metrics in all scrapes. */
const scraped = new Set<string>()
/** Names of the labels of each metric with a series in a scrape. The services can add different labels. */
const labelsOf = new Map<string, Set<string>>()

inNamespaces(import.meta.filename, checkInside)

function checkInside(): void {
  t.test('with default values, both services become healthy', async (t) => {
    const objects = render()
    const { gateway, pods } = await startBoth(t, objects)
    await checkDiscovery(t, gateway, 'http://127.0.0.1:8080')

    const { containers } = find(objects, 'Pod', 'gw-scopegate-test').spec as unknown as PodSpec
    const [command, args] = [containers[0]?.command ?? [], containers[0]?.args ?? []]
    const tested = pods.gateway.exec([...command, ...args], '')
    t.equal(tested.status, 0, 'helm test passes', tested)
    const failed = pods.gateway.exec([...command, ...args.map((one) => one.replace(/^200/, '204'))], '')
    t.equal(failed.status, 1, 'helm test fails for another status', failed)

    const unknown = await fetch(`${gateway}/api/courses`)
    t.equal(unknown.status, 404)
    t.match(await unknown.json(), { error: /./, error_description: /./ })

    const added = pods.authorizationServer.exec(
      ['node', 'bin/scopegate.js', 'account', 'add', 'carol'],
      'correct horse battery staple',
    )
    t.equal(added.status, 0, 'an account is added the way the notes say', added)

    await checkMetrics(t, pods)
    await stopBoth(t, pods)
  })

  t.test('with custom policies, Redis and keys, both services become healthy', async (t) => {
    await startRedis(t)
    await startLearningPlatform(t)
    const objects = render(
      ...[
        '--values',
        join(CHART, 'ci', 'redis-values.yaml'),
        '--values',
        join(ROOT, 'config', 'scopes.yaml'),
        '--values',
        join(ROOT, 'config', 'presets.yaml'),
      ],
      ...['--set', 'gateway.baseUrl=https://api.example.org'],
      ...['--set', 'upstreams.learning-platform.url=http://learning-platform:8082'],
      ...['--set', 'upstreams.learning-platform.openapi=/openapi.json'],
      ...policyFiles().flatMap((file) => [
        '--set-file',
        `policies.inline.${file.replaceAll('.', '\\.')}=${join(ROOT, 'policies', file)}`,
      ]),
    )
    const secret = aSecret('signing-keys', { 'jwks.json': JSON.stringify(await makeSigningKeys()) })
    const { gateway, pods } = await startBoth(t, [...objects, secret])
    await checkDiscovery(t, gateway, 'https://api.example.org')

    const anonymous = await fetch(`${gateway}/api/courses`)
    t.equal(anonymous.status, 200, 'no token: served as anonymous, by the real upstream')
    t.type(await anonymous.json(), 'object')

    for (const file of policyFiles()) {
      const family = file.replace('.policy.yaml', '')
      const rejected = await fetch(`${gateway}/api/${family}`, {
        headers: { authorization: 'Bearer no-such-token' },
      })
      t.equal(rejected.status, 401, `/api/${family} rejects a bad token`)
      t.match(await rejected.json(), { error: 'invalid_token', error_description: /./ }, family)
      const challenge = rejected.headers.get('www-authenticate')
      t.match(challenge, /^Bearer .*error="invalid_token"/, family)
      t.match(
        challenge,
        'resource_metadata="https://api.example.org/.well-known/oauth-protected-resource"',
        family,
      )
    }
    await checkMetrics(t, pods)
    await stopBoth(t, pods)
  })

  t.test(
    'with TLS, identity assertions and separate upstream CAs, both services become healthy',
    async (t) => {
      const authority = aCertificate({ authority: true })
      const certificate = aCertificate({ by: authority, names: ['api.example.org'] })
      const objects = render(
        ...['--values', join(CHART, 'ci', 'tls-values.yaml')],
        ...['--set', 'gateway.config.workers=2'], // adds the metrics of the supervisor
      )
      const { gateway, pods } = await startBoth(t, [
        ...objects,
        aSecret('api-tls', { 'tls.crt': certificate.cert, 'tls.key': certificate.key }),
        aSecret('assertion-keys', { 'keys.pem': aCertificate().key }),
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'internal-authorities' } },
          data: { 'internal.pem': authority.cert },
        },
      ])
      const { port } = new URL(gateway)
      const get = request({
        ...{ host: '127.0.0.1', port, servername: 'api.example.org', ca: authority.cert },
        path: '/.well-known/oauth-protected-resource',
      }).end()
      const [answer] = await once(get, 'response')
      t.equal(answer.statusCode, 200)
      answer.resume()
      const scrape = await (await fetch(`${pods.gateway.address('management')}/metrics`)).text()
      t.match(scrape, /^scopegate_tls_certificate_expiry_seconds \d{10}$/m)
      await checkMetrics(t, pods)
      await stopBoth(t, pods)
    },
  )

  t.test('the canary measures the pod of the gateway with tokens of the authorization server', async (t) => {
    const upstream = createServer((_, response) => response.end('books')).listen(8082, '127.0.0.1')
    t.teardown(() => upstream.close())
    const values = join(CHART, 'ci', 'canary-values.yaml')
    const objects = render('--values', values, '--set', 'canary.intervalSeconds=1')
    const pods = await startDeployments(t, objects)
    const canary = pods.get('gw-scopegate-canary')
    if (canary === undefined) throw new Error('the chart rendered no canary')
    await until('a run is successful', async () => {
      const scrape = await fetch(`${canary.address('management')}/metrics`)
      return /^scopegate_canary_runs_total\{result="ok",stage="-"\} [1-9]/m.test(await scrape.text())
    })
    // The log line arrives through another connection than the scrape.
    await until('the log reports the revocation', async () =>
      canary.output().includes('"event":"canary_revocation","gateway":"http://127.0.0.1:8080"'),
    )
    await checkMetrics(t, { canary })
    await stopBoth(t, Object.fromEntries(pods))
  })

  t.test('a gateway for an issuer of JWTs starts without an authorization server', async (t) => {
    const issuer = await startJwtIssuer({ algorithms: ['RS256'] })
    t.teardown(() => issuer.close())
    const upstream = createServer((_, response) => response.end('books')).listen(8080, '127.0.0.2')
    t.teardown(() => upstream.close())
    const objects = render(
      ...['--values', join(CHART, 'ci', 'jwt-issuer-values.yaml')],
      ...['--set', `gateway.issuers[0].issuer=${issuer.issuer}`],
      ...['--set', 'policies.configMaps={team}'],
      ...['--set', 'upstreams.books.url=http://127.0.0.2:8080,gateway.config.listen.host=127.0.0.1'],
    )
    // The ConfigMap of a team has the same key as the ConfigMap of the chart.
    const [[key, text] = ['', '']] = Object.entries(
      find(objects, 'ConfigMap', 'gw-scopegate-policies').data ?? {},
    )
    const data = { [key]: text.replace('name: books', 'name: notes').replace('/api/books', '/api/notes') }
    const team: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'team' }, data }
    const { gateway, address } = await startPods(t, [...objects, team])
    const get = (token: string, path = '/api/books') =>
      fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } })
    const good = issuer.sign({ aud: 'api://books', scope: 'openid' }, { typ: 'JWT' })
    const answer = await get(good)
    t.equal(answer.status, 200)
    t.equal(await answer.text(), 'books')
    t.equal(
      (await get(good, '/api/notes')).status,
      200,
      'also reads the policy with the same key in another ConfigMap',
    )
    t.equal((await get(issuer.sign({ aud: 'api://other', scope: 'openid' }, { typ: 'JWT' }))).status, 401)
    await stopBoth(t, { gateway })
  })

  t.test('with dual stack, all ports of both services accept connections over IPv4 and IPv6', async (t) => {
    const { pods } = await startBoth(t, render('--values', join(CHART, 'ci', 'dual-stack-values.yaml')))
    for (const pod of Object.values(pods))
      for (const [name, path] of [
        ['http', '/.well-known/oauth-protected-resource'],
        ['management', '/readyz'],
      ] as const) {
        const { port } = new URL(pod.address(name))
        const [ipv4, ipv6] = await Promise.all(
          ['127.0.0.1', '[::1]'].map(async (host) => (await fetch(`http://${host}:${port}${path}`)).status),
        )
        t.equal(ipv6, ipv4, `${name} port ${port}`)
      }
    await stopBoth(t, pods)
  })

  t.test('the gateway serves the policies of an image', async (t) => {
    const image = mkdtempSync(join(tmpdir(), 'image-'))
    chmodSync(image, 0o755)
    mkdirSync(join(image, 'policies'))
    const policy = {
      ...{ apiVersion: 'scopegate/v1', kind: 'Policy', name: 'books', upstream: 'books' },
      routes: [{ name: 'list', match: { methods: ['GET'], path: '/api/books' }, anonymous: 'deny' }],
    }
    writeFileSync(join(image, 'policies', 'books.policy.yaml'), JSON.stringify(policy))
    const { gateway, authorizationServer, address } = await startPods(
      t,
      render('--values', join(CHART, 'ci', 'policy-oci-values.yaml')),
      { imageVolumes: { 'source-0': image } },
    )
    t.equal((await fetch(`${address}/api/books`)).status, 401, 'the route needs a token')
    t.equal((await fetch(`${address}/api/books/7`)).status, 404)
    await stopBoth(t, { gateway, ...(authorizationServer === undefined ? {} : { authorizationServer }) })
  })

  for (const { file, secrets = {}, configMaps = [], claims = [], start } of STARTED)
    t.test(`the services of helm/ci/${file}-values.yaml become healthy`, async (t) => {
      const started = await start?.(t)
      const keys = JSON.stringify(await makeSigningKeys())
      const objects = [
        ...render('--values', join(CHART, 'ci', `${file}-values.yaml`)),
        ...Object.entries({ ...secrets, ...started }).map(([name, data]) =>
          aSecret(
            name,
            Object.fromEntries(Object.entries(data).map(([key, text]) => [key, text === KEYS ? keys : text])),
          ),
        ),
        ...configMaps.map(
          (name): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} }),
        ),
      ]
      const folders = Object.fromEntries(
        claims.map((name) => {
          const folder = mkdtempSync(join(tmpdir(), `claim-${name}-`))
          chmodSync(folder, 0o2777)
          return [name, folder]
        }),
      )
      const pods = await startDeployments(t, objects, { claims: folders })
      t.not(pods.size, 0, 'the chart rendered a Deployment')
      await stopBoth(t, Object.fromEntries(pods))
    })

  t.test('the scrapes contain the metrics of the rules, dashboards and runbooks', async (t) => {
    const texts = FOLDERS.flatMap((folder) => listRepositoryFiles(folder)).map(readRepositoryFile)
    const isScraped = (name: string): boolean => scraped.has(name)
    const used = texts.flatMap(findMetricUses).map(({ name }) => metricOfSeries(name, isScraped))
    t.same([...new Set(used)].filter((name) => !isScraped(name)).toSorted(), [])
  })

  t.test('docs/metrics.md lists exactly the metrics and the labels of the scrapes', async (t) => {
    const documented = readDocumentedMetrics()
    const ours = [...scraped].filter((name) => name.startsWith('scopegate_'))
    t.same(ours.toSorted(), [...documented.keys()].toSorted())
    for (const [metric, labels] of labelsOf) t.same([...labels].toSorted(), documented.get(metric), metric)
  })
}

/**
 * Starts a pod of each Deployment and checks its probes. The pods end at the end of the test.
 * @returns the pods by the name of their Deployment.
 */
async function startDeployments(
  t: Test,
  objects: readonly KubeObject[],
  folders: Pick<Cluster, 'claims' | 'imageVolumes'> = {},
): Promise<ReadonlyMap<string, Pod>> {
  const services = objects.filter((object) => object.kind === 'Service')
  const cluster = {
    ...{ objects, ...folders },
    hosts: [...services.map((service) => service.metadata.name), 'redis', 'db', 'learning-platform', 'books'],
    images: { canary: readImage('gateway') },
  }
  const deployments = objects.filter((object) => object.kind === 'Deployment')
  const pods = new Map(deployments.map((one) => [one.metadata.name, startPod(one, cluster)]))
  t.teardown(() => {
    for (const pod of pods.values()) pod.kill()
  })
  await Promise.all(
    [...pods.values()].map(async (pod) => {
      for (const probe of PROBES) await pod.probe(probe)
    }),
  )
  return pods
}

/** Starts the pods of both Deployments and checks their probes. The pods end at the end of the test. */
async function startBoth(
  t: Test,
  objects: readonly KubeObject[],
): Promise<{ gateway: string; pods: { gateway: Pod; authorizationServer: Pod } }> {
  const { gateway, authorizationServer, address } = await startPods(t, objects)
  if (authorizationServer === undefined) throw new Error('the chart rendered no authorization server')
  return { gateway: address, pods: { gateway, authorizationServer } }
}

/**
 * Starts a pod of every Deployment and checks its probes. The pods end at the end of the test.
 * @returns the pods. `address` is the URL of the gateway.
 */
async function startPods(
  t: Test,
  objects: readonly KubeObject[],
  folders: Pick<Cluster, 'claims' | 'imageVolumes'> = {},
): Promise<{ address: string; gateway: Pod; authorizationServer: Pod | undefined }> {
  const pods = await startDeployments(t, objects, folders)
  const gateway = pods.get('gw-scopegate')
  if (gateway === undefined) throw new Error('the chart rendered no gateway')
  const port = find(objects, 'Service', 'gw-scopegate').spec?.ports?.find((one) => one.name === 'http')
  const address = gateway.address(String(port?.targetPort))
  t.equal(address, `http://127.0.0.1:${port?.port}`, 'the Service has the port of its pods')
  return { address, gateway, authorizationServer: pods.get('gw-scopegate-authorization-server') }
}

/** Stops the pods with SIGTERM. Each pod must exit with code 0 before the end of its grace period. */
async function stopBoth(t: Test, pods: Readonly<Record<string, Pod>>): Promise<void> {
  await Promise.all(
    Object.entries(pods).map(async ([name, pod]) => {
      t.equal(await pod.stop(), 0, `${name} ends with 0 after SIGTERM`, { output: pod.output() })
    }),
  )
}

function aSecret(name: string, data: Readonly<Record<string, string>>): KubeObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name } },
    data: Object.fromEntries(
      Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  }
}

async function checkDiscovery(t: Test, gateway: string, issuer: string): Promise<void> {
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
    const answer = await fetch(`${gateway}${path}`)
    t.equal(answer.status, 200, path)
    t.match(await answer.json(), { issuer, token_endpoint: `${issuer}/api/oauth/token` }, path)
  }
  const resource = await fetch(`${gateway}/.well-known/oauth-protected-resource`)
  t.equal(resource.status, 200)
  t.match(await resource.json(), { resource: issuer, authorization_servers: [issuer] })

  const userinfo = await fetch(`${gateway}/api/oauth/userinfo`, {
    headers: { authorization: 'Bearer no-such-token' },
  })
  t.equal(userinfo.status, 401, 'the authorization server rejects a bad token too')
  t.match(userinfo.headers.get('www-authenticate'), /error="invalid_token"/)
}

/** The real promtool checks types, names, units and help texts of all metrics of both services. */
async function checkMetrics(t: Test, pods: Readonly<Record<string, Pod>>): Promise<void> {
  for (const [name, pod] of Object.entries(pods)) {
    const scrape = await fetch(`${pod.address('management')}/metrics`)
    t.equal(scrape.status, 200)
    const text = await scrape.text()
    t.match(text, /^scopegate_/m, `${name} has separate series`)
    for (const [, metric = ''] of text.matchAll(/^# TYPE (\w+)/gm)) scraped.add(metric)
    for (const [, name = '', selector = ''] of text.matchAll(/^(scopegate_\w+)(?:\{(.*)\})? /gm)) {
      const metric = metricOfSeries(name, (known) => scraped.has(known))
      const labels = [...selector.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
      labelsOf.set(
        metric,
        new Set([...(labelsOf.get(metric) ?? []), ...labels.filter((one) => one !== 'le')]),
      )
    }
    const { status, stdout, stderr } = spawnSync(
      process.env['SCOPEGATE_PROMTOOL'] ?? 'promtool',
      ['check', 'metrics'],
      {
        input: text,
        encoding: 'utf8',
      },
    )
    t.equal(status, 0, `promtool check metrics: ${name}`, { stdout, stderr })
    t.equal(`${stdout}${stderr}`, '', `promtool reports no problem for ${name}`)
  }
}

async function startRedis(t: Test, args: readonly string[] = ['--port', '6379']): Promise<Secrets> {
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  const redis = await spawnRedis(['--bind', '127.0.0.1', '--dir', folder, '--save', '', ...args])
  t.teardown(() => redis.kill())
  return {}
}

/** Returns the Secret with the CA and the client certificate. */
async function startRedisWithTls(t: Test): Promise<Secrets> {
  const tls = writeTlsFiles(t.testdir(), { names: ['redis'] })
  await startRedis(t, ['--port', '0', '--tls-port', '6379', ...tls.serverArgs])
  const read = (file: string): string => readFileSync(file, 'utf8')
  const client = { 'tls.crt': read(tls.clientCertFile), 'tls.key': read(tls.clientKeyFile) }
  return { 'redis-tls': { ...client, 'ca.crt': tls.ca.cert } }
}

/** Returns the Secrets with the CA and the password. */
async function startPostgresWithTls(t: Test): Promise<Secrets> {
  const authority = aCertificate({ authority: true })
  const password = 'a-password-of-the-database'
  const tls = aCertificate({ by: authority, names: ['db'] })
  const postgres = await startPostgres({ port: 5432, password, tls, tlsOnly: true })
  t.teardown(() => postgres.remove())
  return {
    'scopegate-postgres': { password },
    'scopegate-postgres-ca': { 'ca.crt': authority.cert },
  }
}

async function startLearningPlatform(t: Test): Promise<void> {
  const platform = spawn(process.execPath, [join(ROOT, 'examples', 'learning-platform', 'main.ts')], {
    env: {
      ...process.env,
      LEARNING_PLATFORM_PORT: '8082',
      LEARNING_PLATFORM_DATABASE: join(mkdtempSync(join(tmpdir(), 'platform-')), 'platform.sqlite'),
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.teardown(() => {
    platform.kill()
  })
  await new Promise<void>((resolve, reject) => {
    platform.once('message', () => resolve())
    platform.once('exit', (code) => reject(new Error(`the learning platform ended with ${code}`)))
  })
}

function policyFiles(): readonly string[] {
  return readdirSync(join(ROOT, 'policies')).filter((file) => file.endsWith('.policy.yaml'))
}
