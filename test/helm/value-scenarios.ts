import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import { type ChartView, type Component, viewChart } from './chart-view.ts'
import type { Container, KubeObject, PodSpec } from './kube-object.ts'
import { CHART } from './render-chart.ts'

/** A key of values.yaml, a function that reads a rendered field, and the expected value of this field. */
export type ValueCheck = readonly [value: string, read: (chart: ChartView) => unknown, expected: unknown]

/** Values for one rendering of the chart, and the checks of the rendered objects. */
export type Scenario = {
  readonly name: string
  /** Default: `gw`. */
  readonly release?: string
  readonly values: object
  readonly checks: readonly ValueCheck[]
}

type ServiceComponent = Exclude<Component, 'canary'>
const BOTH: readonly ServiceComponent[] = ['gateway', 'authorization-server']
/** Reads the same field of both services. */
const both = (read: (chart: ChartView, component: ServiceComponent) => unknown) => (chart: ChartView) =>
  BOTH.map((component) => read(chart, component))
const twice = (expected: unknown): readonly unknown[] => [expected, expected]

const VERSION: string = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')).version
const JWT_ISSUER = {
  issuer: 'https://login.example.org',
  jwt: { keys: { uri: 'https://login.example.org/keys' } },
}
const PROVIDER = {
  ...{ name: 'company', title: 'Example account' },
  ...{ issuer: 'https://login.example.org', clientId: 'scopegate' },
}
const DIGESTS = { gateway: `sha256:${'a'.repeat(64)}`, server: `sha256:${'b'.repeat(64)}` }
const POLICY = 'apiVersion: scopegate/v1\nkind: Policy\nname: books\n'
const SCOPES = [{ name: 'books:read', description: 'See the books', group: 'Books', sensitivity: 'read' }]
const PRESETS = { ours: { anonymous: 'challenge' } }
const SHARED_LIMITS = { api: { requests: 1000, per: '1m', key: 'subject' } }
const TOLERATIONS = [{ key: 'edge', operator: 'Exists', effect: 'NoSchedule' }]
const AFFINITY = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }
const SPREAD = [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }]
const POD_SECURITY = { runAsUser: 7, runAsGroup: 8, fsGroup: 8 }
const CONTAINER_SECURITY = { runAsUser: 7 }
const SECCOMP = { type: 'RuntimeDefault' }
const WITH_CONTAINER_SECURITY = {
  ...{ allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
  ...{ capabilities: { drop: ['ALL'] }, seccompProfile: SECCOMP, ...CONTAINER_SECURITY },
}
const probe = (periodSeconds: number) => ({
  httpGet: { path: '/livez', port: 'management' },
  ...{ periodSeconds, timeoutSeconds: 2, failureThreshold: 3 },
})
const MANAGEMENT = { name: 'management', targetPort: 'management', protocol: 'TCP', appProtocol: 'http' }

const names = (service: string, namespace: string): readonly string[] =>
  ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map((end) => service + end)
const decode = (text: string | undefined) => Buffer.from(text ?? '', 'base64').toString()
const USED_SECRETS = {
  gateway: ['gateway-client'],
  'authorization-server': ['gateway-client', 'cookie-keys'],
}
/** The checksum of the data of generated Secrets. */
const sumOfSecrets = (chart: ChartView, names: readonly string[]) => {
  const data = names.map(
    (name) => chart.objects.find(({ metadata }) => metadata.name === `gw-scopegate-${name}`)?.data,
  )
  return createHash('sha256').update(JSON.stringify(data)).digest('hex')
}
const podMeta = (chart: ChartView, component: Component) =>
  chart.object('Deployment', component).spec?.template?.metadata
const rules = (chart: ChartView, component: Component) => chart.object('Deployment', component).spec
const projected = (chart: ChartView, component: Component) =>
  chart
    .volume(component, 'secrets')
    ?.projected?.sources.map(({ secret }) => [secret?.name, ...(secret?.items ?? [])])
const selector = (component: Component | 'test', name: string) => ({
  'app.kubernetes.io/name': name,
  'app.kubernetes.io/instance': 'gw',
  'app.kubernetes.io/component': component,
})

/** The environment of a sidecar for a repository that it reads over SSH, with default settings. */
const ofSsh = (url: string) => ({
  ...{ REPO: url, REF: 'HEAD', PERIOD: '30s', DEPTH: '1' },
  SSH_KEY_FILE: '/etc/git-secret/ssh-privatekey',
  SSH_KNOWN_HOSTS_FILE: '/etc/git-secret/known_hosts',
})
const secretVolume = (secretName: string) => ({ secret: { secretName, defaultMode: 0o440, optional: true } })
/** The order of environment variables has no effect. */
const sortEnvironment = (container: Container): Container =>
  container.env === undefined
    ? container
    : { ...container, env: container.env.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
/** The command of the sidecar for a policy source from git. */
const gitLoop = (login: string): string => `trap 'exit 0' TERM
while :; do
  ${login}PATH=/etc/scopegate-git:$PATH /git-sync & wait $!
  sleep 5 & wait $!
  # Failed fetches leave files. First, the link is removed, so that the gateway does not read a part of the policies.
  if [ "$(df --output=pcent /git | tr -dc 0-9)" -gt 50 ]; then
    echo "More than half of the volume is in use. Removing the repository." >&2
    rm -f /git/current; sleep 5 & wait $!; rm -rf /git/.git /git/.worktrees
  fi
done
`
/** The program git of the sidecars. */
const gitProgram = (kibibytes: number, files: number): string => `#!/bin/sh
ulimit -d ${kibibytes}
if [ "$1 $2" = "reset --hard" ]; then
  entries=$(/usr/bin/git ls-tree -r -t --name-only "$3" | head -n ${files + 1} | wc -l)
  if [ "$entries" -gt ${files} ]; then
    echo "The repository has more than ${files} files and folders. Reduce their number, or increase policies.gitSync.resources.limits.memory." >&2
    exit 1
  fi
fi
timeout 120 /usr/bin/git -c core.bigFileThreshold=512k -c core.deltaBaseCacheLimit=8m -c pack.threads=1 "$@" || exit
# The gateway reads the time of this file. A fetch is successful if the gateway can read its commit.
case "$1 $2" in
  "reset --hard") touch /git/.git/last-fetch ;;
  "fetch "*) [ "$(readlink current)" != ".worktrees/$(/usr/bin/git rev-parse 'FETCH_HEAD^{}')" ] || touch /git/.git/last-fetch ;;
esac
# git was successful, also if the volume has no space for the file.
exit 0
`
/** The sidecar for a policy source from git. */
const gitSidecar = (
  index: number,
  name: string,
  options: {
    readonly env: Readonly<Record<string, string>>
    readonly ssh?: boolean
    readonly secret?: boolean
  },
): Container => {
  const { env, ssh = false, secret = ssh } = options
  const login = secret && !ssh ? 'GITSYNC_USERNAME=$(cat /etc/git-secret/username) ' : ''
  const all = {
    ...{ ...env, ROOT: '/git', LINK: 'current', SUBMODULES: 'off', MAX_FAILURES: '5' },
    SYNC_TIMEOUT: '30m',
  }
  return {
    ...{
      name: `policies-${name}`,
      restartPolicy: 'Always',
      image: 'mirror/git:9',
      imagePullPolicy: 'Always',
    },
    securityContext: WITH_CONTAINER_SECURITY,
    resources: { requests: { cpu: '1m' }, limits: { memory: '256Mi' } },
    command: ['/bin/sh', '-c'],
    args: [gitLoop(login)],
    env: [
      { name: 'GIT_ALLOW_PROTOCOL', value: 'https:ssh' },
      ...Object.entries(all).map(([key, value]) => ({ name: `GITSYNC_${key}`, value })),
    ],
    volumeMounts: [
      { name: `source-${index}`, mountPath: '/git' },
      { name: `source-${index}-tmp`, mountPath: '/tmp' },
      { name: 'git', mountPath: '/etc/scopegate-git', readOnly: true },
      ...(secret ? [{ name: `source-${index}-secret`, mountPath: '/etc/git-secret', readOnly: true }] : []),
      ...(ssh ? [{ name: 'git', mountPath: '/etc/passwd', subPath: 'passwd', readOnly: true }] : []),
    ],
  }
}

/** Values that exist globally and for each component. The number shows the source of a rendered value. */
const extrasOf = (of: number | string) => ({
  extraEnv: [{ name: `ENV_${of}`, value: '{{ .Release.Name }}' }],
  extraEnvFrom: [{ secretRef: { name: `{{ .Release.Name }}-${of}` } }],
  extraArgs: [`--arg=${of}`],
  extraVolumes: [{ name: `volume-${of}`, configMap: { name: '{{ .Release.Name }}' } }],
  extraVolumeMounts: [{ name: `volume-${of}`, mountPath: '/{{ .Release.Name }}' }],
  extraContainers: [{ name: `container-${of}`, image: '{{ .Release.Name }}' }],
  extraInitContainers: [{ name: `init-${of}`, image: '{{ .Release.Name }}' }],
  podAnnotations: { global: '0', [`annotation-${of}`]: String(of) },
  podLabels: { global: '0', [`label-${of}`]: String(of) },
})
const placementOf = (of: number | string) => ({
  topologySpreadConstraints: [{ topologyKey: `rack-${of}` }],
  affinity: { podAffinity: { of } },
  nodeSelector: { pool: String(of) },
  tolerations: [{ key: `taint-${of}` }],
  priorityClassName: `class-${of}`,
  hostAliases: [{ ip: `10.0.0.${of}` }],
  dnsPolicy: of === 1 ? 'Default' : 'None',
  dnsConfig: { nameservers: [`10.0.0.${of}`] },
  runtimeClassName: `runtime-${of}`,
  schedulerName: `scheduler-${of}`,
})
const placement = (chart: ChartView, component: Component) => {
  const pod = chart.pod(component)
  return Object.fromEntries(
    (Object.keys(placementOf(0)) as (keyof ReturnType<typeof placementOf>)[]).map((key) => [key, pod[key]]),
  )
}
const PLACEMENTS = Object.keys(placementOf(0))
const EXTRAS = Object.keys(extrasOf(0))
/** Returns the paths of keys that exist globally, for the gateway and for the authorization server. */
const everywhere = (keys: readonly string[]): string =>
  ['', 'gateway.', 'authorizationServer.'].flatMap((part) => keys.map((key) => part + key)).join(', ')

/** Fields of a Service that both services have. */
const SERVICE = {
  type: 'LoadBalancer',
  ...{ ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'], trafficDistribution: 'PreferClose' },
  ...{ internalTrafficPolicy: 'Local', clusterIP: '10.0.0.7', externalIPs: ['203.0.113.8'] },
  ...{ sessionAffinity: 'ClientIP', externalTrafficPolicy: 'Local', loadBalancerClass: 'example.org/a' },
  ...{ loadBalancerIP: '203.0.113.7', loadBalancerSourceRanges: ['203.0.113.0/24'] },
}
const HTTP = { name: 'http', targetPort: 'http', protocol: 'TCP', appProtocol: 'http' }

const PARENT = { name: 'public', namespace: 'ingress' }
const SERVER_PATHS = [
  '/oauth',
  '/api/oauth',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
]
const onIngress = (paths: readonly string[], pathType = 'Prefix', name = 'gw-scopegate') => ({
  paths: paths.map((path) => ({
    ...{ path, pathType },
    backend: { service: { name, port: { name: 'http' } } },
  })),
})

const utilization = (name: string, averageUtilization: number) => ({
  ...{ type: 'Resource', resource: { name, target: { type: 'Utilization', averageUtilization } } },
})

const tcp = (...ports: readonly (string | number)[]) => ports.map((port) => ({ port, protocol: 'TCP' }))
/** The pod of `helm test` as a peer of a NetworkPolicy. */
const TEST_PEER = { podSelector: { matchLabels: selector('test', 'scopegate') } }
const DNS = { ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })) }

const monitorOf = (of: string) => ({
  ...{ interval: `${of}s`, scrapeTimeout: `${of}ms`, honorLabels: true },
  ...{ relabelings: [{ targetLabel: of }], metricRelabelings: [{ regex: of }] },
})
const MONITORED = {
  matchLabels: { 'app.kubernetes.io/name': 'scopegate', 'app.kubernetes.io/instance': 'gw' },
}
/** Returns the texts of the files in a folder of the chart. */
const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(CHART, folder)).map((file) => readFileSync(join(CHART, folder, file), 'utf8'))
/** Replaces the objectives and the addresses of the runbooks, as the scenario with rules does. */
function withObjectives(rules: string): string {
  const [availability, latency] = rules.includes('name: scopegate-authorization-server-objectives')
    ? [98.5, 96]
    : [99, 97]
  return rules
    .replaceAll('* 0.001', `* (1 - ${availability} / 100)`)
    .replaceAll('* 0.01', `* (1 - ${latency} / 100)`)
    .replaceAll(': docs/runbooks/', ': https://runbooks.example.org/')
}

const marks = ({ annotations, labels }: KubeObject['metadata']) => [annotations, labels?.['of']]

const testSpec = (chart: ChartView) =>
  chart.objects.find(({ kind }) => kind === 'Pod')?.spec as unknown as PodSpec | undefined
const testArgs = (chart: ChartView) => testSpec(chart)?.containers[0]?.args
/** Returns the pod for `helm test`, without its script. */
const testPod = (chart: ChartView) => {
  const pod = chart.objects.find(({ kind }) => kind === 'Pod')
  const spec = testSpec(chart)
  return [
    pod?.metadata.name,
    pod?.metadata.annotations,
    { ...spec, containers: spec?.containers.map(({ command, ...one }) => [command?.[0], one]) },
  ]
}
const TEST_POD = {
  annotations: {
    'helm.sh/hook': 'test',
    'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
  },
  spec: { restartPolicy: 'Never', automountServiceAccountToken: false, enableServiceLinks: false },
}

/** At least one scenario checks each value (values.check.ts). */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'all values together',
    values: {
      global: { imageRegistry: 'mirror.example.org' },
      nameOverride: 'proxy',
      fullnameOverride: 'edge',
      namespaceOverride: 'gateways',
      commonLabels: { team: 'platform' },
      commonAnnotations: { contact: 'team@example.org' },
      image: {
        registry: 'lost.example.org',
        repository: 'gate',
        digest: DIGESTS.gateway,
        pullPolicy: 'Always',
      },
      imagePullSecrets: [{ name: 'registry' }],
      replicaCount: 3,
      revisionHistoryLimit: 9,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 3 } },
      gateway: {
        baseUrl: 'https://api.example.org',
        name: 'Bookshop',
        logLevel: 'debug',
        logFormat: 'ecs',
        auditFile: '/var/log/gateway/audit.log',
        issuers: [
          {
            issuer: 'https://login.example.org',
            introspection: {
              endpoint: 'https://login.example.org/introspect',
              clientId: 'api',
              clientSecret: { existingSecret: 'login-client', existingSecretKey: 'password' },
            },
          },
          { issuer: 'https://jwt.example.org', jwt: {}, caFile: '/etc/scopegate/authorities/a.pem' },
        ],
        bundledIssuer: { introspection: { timeout: '1s' } },
        trustedProxies: ['10.0.0.0/8'],
        tls: { existingSecret: 'api-tls', minVersion: 'TLSv1.3', http2: true },
        assertion: { existingSecret: 'assertion-keys', existingSecretKey: 'keys.pem' },
        authorities: { existingConfigMap: 'authorities' },
        upstreamCredentials: { existingSecret: 'upstream-keys' },
        extraEnv: [{ name: 'GATEWAY_VARIABLE', value: 'one' }],
        config: {
          resources: [
            ...[{ path: '/' }, { path: '/mcp' }, { path: '/x', issuers: ['https://x'] }],
            { path: '/bundled', issuers: ['https://id.example.org'] },
          ],
          workers: 2,
        },
      },
      policies: {
        inline: { 'books.policy.yaml': POLICY },
        configMaps: ['team-a', 'team-b'],
        reload: 'restart',
      },
      scopes: SCOPES,
      presets: PRESETS,
      sharedLimits: SHARED_LIMITS,
      upstreams: { books: { url: 'http://books' } },
      authorizationServer: {
        issuer: 'https://id.example.org',
        gatewayClient: { id: 'gate-client', existingSecretKey: 'unused' },
        cookieSecret: { existingSecretKey: 'unused' },
        replicaCount: 2,
        accessTokenFormat: 'jwt',
        auditFile: '/var/log/server/audit.log',
        clientDocuments: { domains: ['agents.example.org'] },
        image: { repository: 'server', digest: DIGESTS.server },
        signingKeys: { existingSecret: 'signing', existingSecretKey: 'keys' },
        adminToken: { existingSecret: 'console', existingSecretKey: 'token' },
        signIn: {
          local: false,
          providers: [
            {
              ...PROVIDER,
              clientSecret: { existingSecret: 'company-login', existingSecretKey: 'secret' },
              claims: { groups: 'groups' },
            },
            { ...PROVIDER, name: 'other', clientSecret: { existingSecret: 'other-login' } },
          ],
        },
        extraEnv: [{ name: 'SERVER_VARIABLE', value: 'two' }],
        config: { lifetimes: { code: '30s' }, registration: { bodyLimit: '1KiB' } },
        resources: { limits: { memory: '1Gi' } },
      },
      redis: { url: 'redis://redis:6379', existingSecretKey: 'unused' },
      service: {
        type: 'ClusterIP',
        ports: { http: 443, management: 9999 },
        annotations: { balancer: 'internal' },
      },
      serviceAccount: { create: true, name: 'runner', annotations: { role: 'none' } },
      resources: { requests: { cpu: '1' }, limits: { memory: '512Mi' } },
      topologySpreadConstraints: SPREAD,
      affinity: AFFINITY,
      nodeSelector: { disk: 'ssd' },
      tolerations: TOLERATIONS,
      priorityClassName: 'high',
      podSecurityContext: POD_SECURITY,
      containerSecurityContext: CONTAINER_SECURITY,
      startupProbe: probe(11),
      livenessProbe: probe(12),
      readinessProbe: probe(13),
      lifecycle: { preStop: { sleep: { seconds: 7 } } },
      terminationGracePeriodSeconds: 77,
      podAnnotations: { scrape: 'true' },
      podLabels: { zone: 'outer' },
    },
    checks: [
      [
        'global.imageRegistry',
        both((c, one) => c.container(one).image.split('/')[0]),
        twice('mirror.example.org'),
      ],
      [
        'nameOverride',
        both((c, one) => rules(c, one)?.selector?.matchLabels),
        BOTH.map((one) => selector(one, 'proxy')),
      ],
      [
        'nameOverride',
        both((c, one) => c.object('Service', one).spec?.selector),
        BOTH.map((one) => selector(one, 'proxy')),
      ],
      [
        'fullnameOverride',
        (c) => c.objects.map(({ metadata }) => metadata.name).toSorted(),
        [
          ...[
            'edge',
            'edge',
            'edge-config',
            'edge-cookie-keys',
            'edge-gateway-client',
            'edge-policies',
            'edge-redis',
            'edge-test',
          ],
          ...[
            'edge-authorization-server',
            'edge-authorization-server',
            'edge-authorization-server-config',
            'runner',
          ],
        ].toSorted(),
      ],
      [
        'namespaceOverride',
        (c) => [...new Set(c.objects.map(({ metadata }) => metadata.namespace))],
        ['gateways'],
      ],
      [
        'namespaceOverride',
        both((c, one) => (c.config(one)['management'] as { names: unknown }).names),
        [names('edge', 'gateways'), names('edge-authorization-server', 'gateways')],
      ],
      [
        'commonLabels',
        (c) => c.objects.map(({ metadata }) => metadata.labels?.['team']),
        Array(12).fill('platform'),
      ],
      ['commonLabels', both((c, one) => podMeta(c, one)?.labels?.['team']), twice('platform')],
      [
        'commonAnnotations',
        (c) => c.objects.map(({ metadata }) => metadata.annotations?.['contact']),
        Array(12).fill('team@example.org'),
      ],
      [
        'image.digest, authorizationServer.image.digest, image.repository, authorizationServer.image.repository',
        both((c, one) => c.container(one).image),
        [`mirror.example.org/gate@${DIGESTS.gateway}`, `mirror.example.org/server@${DIGESTS.server}`],
      ],
      ['image.pullPolicy', both((c, one) => c.container(one).imagePullPolicy), twice('Always')],
      ['imagePullSecrets', both((c, one) => c.pod(one).imagePullSecrets), twice([{ name: 'registry' }])],
      ['replicaCount, authorizationServer.replicaCount', both((c, one) => rules(c, one)?.replicas), [3, 2]],
      ['revisionHistoryLimit', both((c, one) => rules(c, one)?.revisionHistoryLimit), twice(9)],
      [
        'strategy',
        both((c, one) => rules(c, one)?.strategy),
        [
          { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 3 } },
          { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        ],
      ],
      ['gateway.baseUrl', (c) => c.config('gateway')['baseUrl'], 'https://api.example.org'],
      ['gateway.name', both((c, one) => c.config(one)['name']), twice('Bookshop')],
      [
        'gateway.logLevel, gateway.logFormat, gateway.auditFile, authorizationServer.auditFile',
        both((c, one) => c.config(one)['log']),
        ['gateway', 'server'].map((name) => ({
          level: 'debug',
          format: 'ecs',
          auditFile: `/var/log/${name}/audit.log`,
        })),
      ],
      [
        'gateway.issuers, gateway.bundledIssuer, authorizationServer.issuer, authorizationServer.gatewayClient.id, authorizationServer.accessTokenFormat',
        (c) => c.config('gateway')['issuers'],
        [
          {
            issuer: 'https://id.example.org',
            jwt: { keys: { uri: 'http://edge-authorization-server:8081/api/oauth/jwks' } },
            introspection: {
              endpoint: 'http://edge-authorization-server:8081/api/oauth/introspect',
              clientId: 'gate-client',
              clientSecretFile: '/etc/scopegate/secrets/gateway-client-secret',
              timeout: '1s',
            },
            revocations: 'http://edge-authorization-server:8081/internal/revocations',
          },
          {
            issuer: 'https://login.example.org',
            introspection: {
              endpoint: 'https://login.example.org/introspect',
              clientId: 'api',
              clientSecretFile: '/etc/scopegate/secrets/issuer-0-client-secret',
            },
          },
          { issuer: 'https://jwt.example.org', jwt: {}, caFile: '/etc/scopegate/authorities/a.pem' },
        ],
      ],
      [
        'authorizationServer.accessTokenFormat',
        (c) => c.config('authorization-server')['accessTokens'],
        { format: 'jwt' },
      ],
      [
        'authorizationServer.issuer',
        (c) => c.config('authorization-server')['issuer'],
        'https://id.example.org',
      ],
      [
        'authorizationServer.gatewayClient.id',
        (c) => c.config('authorization-server')['gatewayClient'],
        { id: 'gate-client', secretFile: '/etc/scopegate/secrets/gateway-client-secret' },
      ],
      ['gateway.trustedProxies', (c) => c.config('gateway')['trustedProxies'], ['10.0.0.0/8']],
      [
        'gateway.tls.existingSecret, gateway.tls.minVersion, gateway.tls.http2',
        (c) => c.config('gateway')['tls'],
        {
          ...{ certFile: '/etc/scopegate/secrets/tls.crt', keyFile: '/etc/scopegate/secrets/tls.key' },
          minVersion: 'TLSv1.3',
          http2: true,
        },
      ],
      [
        'gateway.assertion.existingSecret',
        (c) => c.config('gateway')['assertion'],
        { keyFile: '/etc/scopegate/secrets/assertion.pem' },
      ],
      [
        'gateway.issuers, gateway.tls.existingSecret, gateway.assertion.existingSecret, gateway.assertion.existingSecretKey, authorizationServer.signingKeys.existingSecret, authorizationServer.signingKeys.existingSecretKey, authorizationServer.adminToken.existingSecret, authorizationServer.adminToken.existingSecretKey, authorizationServer.signIn.providers',
        both(projected),
        [
          [
            ['edge-gateway-client', { key: 'client-secret', path: 'gateway-client-secret' }],
            ['login-client', { key: 'password', path: 'issuer-0-client-secret' }],
            ['api-tls', { key: 'tls.crt', path: 'tls.crt' }, { key: 'tls.key', path: 'tls.key' }],
            ['assertion-keys', { key: 'keys.pem', path: 'assertion.pem' }],
          ],
          [
            ['edge-gateway-client', { key: 'client-secret', path: 'gateway-client-secret' }],
            ['edge-cookie-keys', { key: 'cookie-keys', path: 'cookie-keys' }],
            ['signing', { key: 'keys', path: 'signing-keys.json' }],
            ['console', { key: 'token', path: 'admin-token' }],
            ['company-login', { key: 'secret', path: 'sign-in-company-client-secret' }],
            ['other-login', { key: 'client-secret', path: 'sign-in-other-client-secret' }],
          ],
        ],
      ],
      [
        'authorizationServer.adminToken.existingSecret',
        (c) => (c.config('authorization-server')['management'] as { adminTokenFile: unknown }).adminTokenFile,
        '/etc/scopegate/secrets/admin-token',
      ],
      [
        'authorizationServer.signIn.local, authorizationServer.signIn.providers',
        (c) => c.config('authorization-server')['signIn'],
        {
          local: false,
          providers: [
            {
              ...PROVIDER,
              clientSecretFile: '/etc/scopegate/secrets/sign-in-company-client-secret',
              claims: { groups: 'groups' },
            },
            {
              ...PROVIDER,
              name: 'other',
              clientSecretFile: '/etc/scopegate/secrets/sign-in-other-client-secret',
            },
          ],
        },
      ],
      ['gateway.issuers', both((c, one) => c.mount(one, 'secrets')), twice(['/etc/scopegate/secrets', true])],
      ['gateway.issuers', both((c, one) => c.volume(one, 'secrets')?.projected?.defaultMode), twice(0o440)],
      [
        'authorizationServer.signingKeys.existingSecret',
        (c) => c.config('authorization-server')['signingKeysFile'],
        '/etc/scopegate/secrets/signing-keys.json',
      ],
      [
        'gateway.authorities.existingConfigMap',
        (c) => c.volume('gateway', 'authorities'),
        { configMap: { name: 'authorities' } },
      ],
      [
        'gateway.authorities.existingConfigMap',
        (c) => c.mount('gateway', 'authorities'),
        ['/etc/scopegate/authorities', true],
      ],
      [
        'gateway.upstreamCredentials.existingSecret',
        (c) => c.volume('gateway', 'upstream-credentials'),
        { secret: { secretName: 'upstream-keys', defaultMode: 0o440 } },
      ],
      [
        'gateway.upstreamCredentials.existingSecret',
        (c) => c.mount('gateway', 'upstream-credentials'),
        ['/etc/scopegate/upstreams', true],
      ],
      [
        'gateway.extraEnv, authorizationServer.extraEnv',
        both((c, one) => [c.env(one, 'GATEWAY_VARIABLE'), c.env(one, 'SERVER_VARIABLE')]),
        [
          ['one', undefined],
          [undefined, 'two'],
        ],
      ],
      ['gateway.config', (c) => c.config('gateway')['workers'], 2],
      ['gateway.config', (c) => c.config('authorization-server')['protectedResources'], ['/mcp', '/bundled']],
      ['authorizationServer.config', (c) => c.config('authorization-server')['lifetimes'], { code: '30s' }],
      [
        'authorizationServer.clientDocuments.domains, authorizationServer.config',
        (c) => c.config('authorization-server')['registration'],
        { clientDocuments: { domains: ['agents.example.org'] }, bodyLimit: '1KiB' },
      ],
      [
        'policies.inline',
        (c) => c.object('ConfigMap', 'gateway', '-policies').data,
        { 'books.policy.yaml': POLICY },
      ],
      [
        'policies.configMaps',
        (c) =>
          [0, 1, 2].map((at) => [
            c.volume('gateway', `policies-${at}`),
            c.mount('gateway', `policies-${at}`),
          ]),
        ['edge-policies', 'team-a', 'team-b'].map((name) => [
          { configMap: { name } },
          [`/etc/scopegate/policies/${name}`, true],
        ]),
      ],
      [
        'policies.existingClaim',
        (c) => [c.volume('gateway', 'policies'), c.mount('gateway', 'policies')],
        [undefined, undefined],
      ],
      ['policies.reload', (c) => c.config('gateway')['policyReload'], 'manual'],
      ['policies.reload', (c) => typeof podMeta(c, 'gateway')?.annotations?.['checksum/policies'], 'string'],
      ['scopes', both((c, one) => c.config(one, 'scopes.yaml')), twice({ scopes: SCOPES })],
      [
        'presets, sharedLimits',
        (c) => c.config('gateway', 'presets.yaml'),
        { presets: PRESETS, sharedLimits: SHARED_LIMITS },
      ],
      ['presets', (c) => c.config('gateway')['presets'], './presets.yaml'],
      [
        'upstreams',
        (c) => c.config('gateway', 'upstreams.yaml'),
        {
          books: { url: 'http://books' },
          'authorization-server': { url: 'http://edge-authorization-server:8081' },
        },
      ],
      [
        'authorizationServer.enabled',
        (c) => c.config('gateway')['authorizationServer'],
        { upstream: 'authorization-server' },
      ],
      [
        'authorizationServer.database.existingClaim',
        (c) => c.volume('authorization-server', 'data'),
        { emptyDir: {} },
      ],
      [
        'redis.url',
        (c) => decode(c.object('Secret', 'authorization-server', '-redis').data?.['redis-url']),
        'redis://redis:6379',
      ],
      [
        'redis.url',
        both((c, one) => c.env(one, 'REDIS_URL')),
        twice({ secretKeyRef: { name: 'edge-redis', key: 'redis-url' } }),
      ],
      ['redis.url', (c) => c.config('authorization-server')['store'], { type: 'redis' }],
      [
        'service.type, service.ports.http, service.ports.management',
        (c) => [c.object('Service', 'gateway').spec?.type, c.object('Service', 'gateway').spec?.ports],
        [
          'ClusterIP',
          [
            { name: 'http', port: 443, targetPort: 'http', protocol: 'TCP', appProtocol: 'https' },
            { ...MANAGEMENT, port: 9999 },
          ],
        ],
      ],
      [
        'service.annotations',
        both((c, one) => c.object('Service', one).metadata.annotations?.['balancer']),
        ['internal', undefined],
      ],
      [
        'serviceAccount.create',
        (c) => c.object('ServiceAccount', 'gateway').automountServiceAccountToken,
        false,
      ],
      ['serviceAccount.name', (c) => c.object('ServiceAccount', 'gateway').metadata.name, 'runner'],
      ['serviceAccount.name', both((c, one) => c.pod(one).serviceAccountName), twice('runner')],
      [
        'serviceAccount.annotations',
        (c) => c.object('ServiceAccount', 'gateway').metadata.annotations?.['role'],
        'none',
      ],
      [
        'resources, authorizationServer.resources',
        both((c, one) => c.container(one).resources),
        [
          { requests: { cpu: '1', memory: '192Mi' }, limits: { memory: '512Mi' } },
          { limits: { memory: '1Gi' } },
        ],
      ],
      [
        'resources, authorizationServer.resources',
        both((c, one) => c.env(one, 'NODE_OPTIONS')),
        ['--max-old-space-size=384', '--max-old-space-size=768'],
      ],
      ['topologySpreadConstraints', both((c, one) => c.pod(one).topologySpreadConstraints), twice(SPREAD)],
      ['affinity', both((c, one) => c.pod(one).affinity), twice(AFFINITY)],
      ['nodeSelector', both((c, one) => c.pod(one).nodeSelector), twice({ disk: 'ssd' })],
      ['tolerations', both((c, one) => c.pod(one).tolerations), twice(TOLERATIONS)],
      ['priorityClassName', both((c, one) => c.pod(one).priorityClassName), twice('high')],
      [
        'podSecurityContext',
        both((c, one) => c.pod(one).securityContext),
        twice({
          runAsNonRoot: true,
          ...POD_SECURITY,
          fsGroupChangePolicy: 'OnRootMismatch',
          seccompProfile: SECCOMP,
        }),
      ],
      [
        'containerSecurityContext',
        both((c, one) => c.container(one).securityContext),
        twice(WITH_CONTAINER_SECURITY),
      ],
      ['startupProbe', both((c, one) => c.container(one).startupProbe?.periodSeconds), twice(11)],
      ['livenessProbe', both((c, one) => c.container(one).livenessProbe?.periodSeconds), twice(12)],
      ['readinessProbe', both((c, one) => c.container(one).readinessProbe?.periodSeconds), twice(13)],
      [
        'lifecycle',
        both((c, one) => c.container(one).lifecycle),
        twice({ preStop: { sleep: { seconds: 7 } } }),
      ],
      [
        'terminationGracePeriodSeconds',
        both((c, one) => c.pod(one).terminationGracePeriodSeconds),
        twice(77),
      ],
      ['podAnnotations', both((c, one) => podMeta(c, one)?.annotations?.['scrape']), twice('true')],
      ['podLabels', both((c, one) => podMeta(c, one)?.labels?.['zone']), twice('outer')],
      [
        'tests.enabled, image.digest, image.pullPolicy, imagePullSecrets, gateway.tls.existingSecret',
        testPod,
        [
          'edge-test',
          { ...TEST_POD.annotations, contact: 'team@example.org' },
          {
            ...{ ...TEST_POD.spec, imagePullSecrets: [{ name: 'registry' }] },
            securityContext: {
              ...{ runAsNonRoot: true, ...POD_SECURITY },
              ...{ fsGroupChangePolicy: 'OnRootMismatch', seccompProfile: SECCOMP },
            },
            containers: [
              [
                'node',
                {
                  ...{ name: 'test', image: `mirror.example.org/gate@${DIGESTS.gateway}` },
                  ...{ imagePullPolicy: 'Always' },
                  env: [{ name: 'NODE_TLS_REJECT_UNAUTHORIZED', value: '0' }],
                  args: [
                    '200 https://edge:443/.well-known/oauth-protected-resource',
                    '200 http://edge:9999/readyz',
                    '200 https://edge:443/.well-known/oauth-authorization-server',
                    '401 https://edge:443/api/oauth/userinfo',
                  ],
                  securityContext: {
                    ...{ allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true },
                    ...{ runAsNonRoot: true, capabilities: { drop: ['ALL'] }, seccompProfile: SECCOMP },
                    ...CONTAINER_SECURITY,
                  },
                },
              ],
            ],
          },
        ],
      ],
    ],
  },
  {
    name: 'everything secret or lasting exists already',
    values: {
      image: { registry: 'registry.example.org', tag: '9.9.9' },
      gateway: {
        config: { drain: { grace: '10m' } },
        existingConfigMap: 'own-gateway',
        issuers: [
          {
            issuer: 'https://login.example.org',
            introspection: {
              endpoint: 'https://login.example.org/introspect',
              clientId: 'api',
              clientSecret: { existingSecret: 'login-client' },
            },
          },
        ],
      },
      policies: { existingClaim: 'own-policies' },
      authorizationServer: {
        gatewayClient: { existingSecret: 'own-client', existingSecretKey: 'password' },
        cookieSecret: { existingSecret: 'own-cookies', existingSecretKey: 'lines' },
        database: { existingClaim: 'own-data' },
        existingConfigMap: 'own-server',
      },
      redis: { existingSecret: 'own-redis', existingSecretKey: 'address' },
      service: { type: 'LoadBalancer' },
      serviceAccount: { create: false, name: 'given' },
    },
    checks: [
      [
        'image.registry, image.tag',
        both((c, one) => c.container(one).image),
        ['registry.example.org/scopegate:9.9.9', 'registry.example.org/scopegate-authorization-server:9.9.9'],
      ],
      [
        'gateway.existingConfigMap, authorizationServer.existingConfigMap',
        both((c, one) => c.volume(one, 'config')),
        [{ configMap: { name: 'own-gateway' } }, { configMap: { name: 'own-server' } }],
      ],
      [
        'gateway.existingConfigMap, authorizationServer.existingConfigMap, policies.existingClaim, authorizationServer.gatewayClient.existingSecret, authorizationServer.cookieSecret.existingSecret, redis.existingSecret, serviceAccount.create',
        (c) => [...new Set(c.objects.map(({ kind }) => kind))].toSorted(),
        ['Deployment', 'Pod', 'Service'],
      ],
      [
        'policies.existingClaim',
        (c) => [
          c.volume('gateway', 'policies'),
          c.mount('gateway', 'policies'),
          c.volume('gateway', 'policies-0'),
        ],
        [
          { persistentVolumeClaim: { claimName: 'own-policies', readOnly: true } },
          ['/etc/scopegate/policies', true],
          undefined,
        ],
      ],
      [
        'authorizationServer.gatewayClient.existingSecret, authorizationServer.gatewayClient.existingSecretKey, authorizationServer.cookieSecret.existingSecret, authorizationServer.cookieSecret.existingSecretKey',
        both(projected),
        [
          [
            ['own-client', { key: 'password', path: 'gateway-client-secret' }],
            ['login-client', { key: 'client-secret', path: 'issuer-0-client-secret' }],
          ],
          [
            ['own-client', { key: 'password', path: 'gateway-client-secret' }],
            ['own-cookies', { key: 'lines', path: 'cookie-keys' }],
          ],
        ],
      ],
      [
        'authorizationServer.database.existingClaim',
        (c) => [c.volume('authorization-server', 'data'), c.mount('authorization-server', 'data')],
        [{ persistentVolumeClaim: { claimName: 'own-data' } }, ['/var/lib/scopegate', false]],
      ],
      [
        'redis.existingSecret, redis.existingSecretKey',
        both((c, one) => c.env(one, 'REDIS_URL')),
        twice({ secretKeyRef: { name: 'own-redis', key: 'address' } }),
      ],
      ['service.type', (c) => c.object('Service', 'gateway').spec?.type, 'LoadBalancer'],
      [
        'service.type',
        (c) => c.object('Service', 'gateway').spec?.ports,
        [{ name: 'http', port: 8080, targetPort: 'http', protocol: 'TCP', appProtocol: 'http' }],
      ],
      ['serviceAccount.name', both((c, one) => c.pod(one).serviceAccountName), twice('given')],
      [
        'tests.enabled',
        testArgs,
        [
          '200 http://gw-scopegate:8080/.well-known/oauth-protected-resource',
          '200 http://gw-scopegate:8080/.well-known/oauth-authorization-server',
          '401 http://gw-scopegate:8080/api/oauth/userinfo',
        ],
      ],
    ],
  },
  {
    name: 'PostgreSQL for the authorization server, Redis for the gateways',
    values: {
      replicaCount: 2,
      redis: { url: 'redis://redis:6379', username: 'limits', passwordSecret: 'redis-password' },
      postgres: {
        url: 'postgres://grants@db:5432/grants',
        existingSecret: 'own-password',
        existingSecretKey: 'secret',
        caSecret: 'own-ca',
        caSecretKey: 'authority',
        pool: { max: 20, connectTimeout: '1s', statementTimeout: '3s' },
      },
      authorizationServer: {
        signingKeys: { existingSecret: 'signing' },
        signIn: { secondFactor: { mode: 'required', acr: 'two-factors' } },
      },
    },
    checks: [
      [
        'authorizationServer.signIn.secondFactor.mode, authorizationServer.signIn.secondFactor.acr',
        (c) => c.config('authorization-server')['signIn'],
        { local: true, providers: [], secondFactor: { mode: 'required', acr: 'two-factors' } },
      ],
      [
        'postgres.url',
        (c) => [
          c.config('authorization-server')['redis'],
          projected(c, 'authorization-server')?.filter(([name]) => name === 'redis-password'),
        ],
        [undefined, []],
      ],
      [
        'postgres.url, postgres.pool',
        (c) => [c.config('authorization-server')['store'], c.config('authorization-server')['postgres']],
        [
          { type: 'postgres' },
          {
            url: 'postgres://grants@db:5432/grants',
            passwordFile: '/etc/scopegate/secrets/postgres-password',
            caFile: '/etc/scopegate/secrets/postgres-ca.pem',
            pool: { max: 20, connectTimeout: '1s', statementTimeout: '3s' },
          },
        ],
      ],
      [
        'postgres.url',
        both((c, one) => [rules(c, one)?.strategy?.type, c.env(one, 'REDIS_URL') !== undefined]),
        [
          ['RollingUpdate', true],
          ['RollingUpdate', false],
        ],
      ],
      [
        'postgres.existingSecret, postgres.existingSecretKey, postgres.caSecret, postgres.caSecretKey',
        both((c, one) => projected(c, one)?.filter(([name]) => String(name).startsWith('own-'))),
        [
          [],
          [
            ['own-password', { key: 'secret', path: 'postgres-password' }],
            ['own-ca', { key: 'authority', path: 'postgres-ca.pem' }],
          ],
        ],
      ],
    ],
  },
  {
    name: 'a Redis Cluster, and another Redis with Sentinel for the gateways',
    values: {
      redis: {
        cluster: { addresses: ['redis-0:6379'] },
        username: 'scopegate',
        passwordSecret: 'own-password',
        passwordSecretKey: 'secret',
        caSecret: 'own-ca',
        caSecretKey: 'authority',
        clientCertificateSecret: 'own-client',
      },
      gatewayRedis: {
        sentinel: { name: 'main', addresses: ['sentinel-0:26379'] },
        username: 'volatile',
        passwordSecret: 'own-volatile',
        passwordSecretKey: 'volatile',
        caSecret: 'own-volatile-ca',
        caSecretKey: 'volatile-authority',
        clientCertificateSecret: 'own-volatile-client',
      },
    },
    checks: [
      [
        'redis.cluster, redis.username',
        (c) => [
          c.config('authorization-server')['store'],
          c.config('authorization-server')['redis'],
          c.config('gateway')['revocationRedis'],
        ],
        [
          { type: 'redis' },
          ...twice({
            cluster: { addresses: ['redis-0:6379'] },
            username: 'scopegate',
            passwordFile: '/etc/scopegate/secrets/redis-password',
            tls: {
              caFile: '/etc/scopegate/secrets/redis-ca.pem',
              certFile: '/etc/scopegate/secrets/redis-client.crt',
              keyFile: '/etc/scopegate/secrets/redis-client.key',
            },
          }),
        ],
      ],
      [
        'gatewayRedis.sentinel, gatewayRedis.username',
        (c) => c.config('gateway')['redis'],
        {
          sentinel: { name: 'main', addresses: ['sentinel-0:26379'] },
          username: 'volatile',
          passwordFile: '/etc/scopegate/secrets/gateway-redis-password',
          tls: {
            caFile: '/etc/scopegate/secrets/gateway-redis-ca.pem',
            certFile: '/etc/scopegate/secrets/gateway-redis-client.crt',
            keyFile: '/etc/scopegate/secrets/gateway-redis-client.key',
          },
        },
      ],
      [
        'redis.passwordSecret, redis.passwordSecretKey, redis.caSecret, redis.caSecretKey, redis.clientCertificateSecret, gatewayRedis.passwordSecret, gatewayRedis.passwordSecretKey, gatewayRedis.caSecret, gatewayRedis.caSecretKey, gatewayRedis.clientCertificateSecret',
        both((c, one) => projected(c, one)?.filter(([name]) => String(name).startsWith('own-'))),
        [
          [
            ['own-volatile', { key: 'volatile', path: 'gateway-redis-password' }],
            ['own-volatile-ca', { key: 'volatile-authority', path: 'gateway-redis-ca.pem' }],
            [
              'own-volatile-client',
              { key: 'tls.crt', path: 'gateway-redis-client.crt' },
              { key: 'tls.key', path: 'gateway-redis-client.key' },
            ],
            ['own-password', { key: 'secret', path: 'redis-password' }],
            ['own-ca', { key: 'authority', path: 'redis-ca.pem' }],
            [
              'own-client',
              { key: 'tls.crt', path: 'redis-client.crt' },
              { key: 'tls.key', path: 'redis-client.key' },
            ],
          ],
          [
            ['own-password', { key: 'secret', path: 'redis-password' }],
            ['own-ca', { key: 'authority', path: 'redis-ca.pem' }],
            [
              'own-client',
              { key: 'tls.crt', path: 'redis-client.crt' },
              { key: 'tls.key', path: 'redis-client.key' },
            ],
          ],
        ],
      ],
    ],
  },
  {
    name: 'Redis with an address, and another one for the gateways',
    values: {
      redis: { url: 'redis://redis:6379' },
      gatewayRedis: { cluster: {}, sentinel: {}, url: 'redis://volatile:6379' },
    },
    checks: [
      [
        'gatewayRedis.url, gatewayRedis.cluster',
        (c) => [
          c.config('gateway')['redis'],
          c.env('gateway', 'SCOPEGATE_REVOCATION_REDIS__URL'),
          c.env('gateway', 'REDIS_URL'),
        ],
        [
          { url: 'redis://volatile:6379' },
          { secretKeyRef: { name: 'gw-scopegate-redis', key: 'redis-url' } },
          undefined,
        ],
      ],
    ],
  },
  {
    name: 'Redis with Sentinel for both services',
    values: { redis: { sentinel: { name: 'main', addresses: ['sentinel-0:26379'] } } },
    checks: [
      [
        'redis.sentinel',
        (c) => [c.config('authorization-server')['redis'], c.config('gateway')['redis']],
        twice({ sentinel: { name: 'main', addresses: ['sentinel-0:26379'] } }),
      ],
    ],
  },
  {
    name: 'Sentinels with a password, and another autoscaler',
    values: {
      redis: {
        sentinel: { name: 'main', addresses: ['sentinel-0:26379'], username: 'watcher' },
        ...{ sentinelPasswordSecret: 'own', sentinelPasswordSecretKey: 'first' },
      },
      gatewayRedis: {
        sentinel: { name: 'volatile', addresses: ['sentinel-1:26379'] },
        ...{ sentinelPasswordSecret: 'own', sentinelPasswordSecretKey: 'second' },
      },
      autoscaling: { enabled: true, create: false, minReplicas: 2, maxReplicas: 3 },
      resources: { requests: null, limits: { memory: '384Mi' } },
      authorizationServer: {
        config: { signingKeysFile: '/vault/secrets/jwks.json' },
        autoscaling: { enabled: true, create: false, minReplicas: 2, maxReplicas: 3 },
      },
    },
    checks: [
      [
        'redis.sentinelPasswordSecret, gatewayRedis.sentinelPasswordSecret',
        (c) => [
          c.config('authorization-server')['redis'],
          c.config('gateway')['revocationRedis'],
          c.config('gateway')['redis'],
        ],
        [
          ...twice({
            sentinel: {
              ...{ name: 'main', addresses: ['sentinel-0:26379'], username: 'watcher' },
              passwordFile: '/etc/scopegate/secrets/redis-sentinel-password',
            },
          }),
          {
            sentinel: {
              ...{ name: 'volatile', addresses: ['sentinel-1:26379'] },
              passwordFile: '/etc/scopegate/secrets/gateway-redis-sentinel-password',
            },
          },
        ],
      ],
      [
        'redis.sentinelPasswordSecretKey, gatewayRedis.sentinelPasswordSecretKey',
        both((c, one) => projected(c, one)?.filter(([name]) => name === 'own')),
        [
          [
            ['own', { key: 'second', path: 'gateway-redis-sentinel-password' }],
            ['own', { key: 'first', path: 'redis-sentinel-password' }],
          ],
          [['own', { key: 'first', path: 'redis-sentinel-password' }]],
        ],
      ],
      [
        'autoscaling.create, authorizationServer.autoscaling.create',
        both((c, one) => [c.find('HorizontalPodAutoscaler', one), rules(c, one)?.replicas]),
        twice([undefined, undefined]),
      ],
    ],
  },
  {
    name: 'a private issuer of cert-manager, and git-sync with a proxy',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      certificate: { enabled: true, issuerRef: { name: 'own' }, spec: { duration: '72h' } },
      networkPolicy: { enabled: true },
      policies: {
        gitSync: {
          extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy.{{ .Release.Name }}:3128' }],
          extraVolumeMounts: [{ name: 'ca', mountPath: '/{{ .Release.Name }}/ca' }],
        },
        sources: [
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            git: { url: 'https://git.example.org/books.git' },
          },
        ],
      },
    },
    checks: [
      [
        'certificate.spec',
        (c) => c.object('Certificate', 'gateway').spec,
        {
          ...{ secretName: 'gw-scopegate-certificate', dnsNames: ['api.example.org'] },
          issuerRef: { name: 'own', kind: 'ClusterIssuer', group: 'cert-manager.io' },
          duration: '72h',
        },
      ],
      [
        'policies.gitSync.extraVolumeMounts',
        (c) => c.pod('gateway').initContainers?.[0]?.volumeMounts?.at(-1),
        { name: 'ca', mountPath: '/gw/ca' },
      ],
      [
        'policies.gitSync.extraEnv',
        (c) => [
          c.pod('gateway').initContainers?.[0]?.env?.find(({ name }) => name === 'HTTPS_PROXY'),
          c.object('NetworkPolicy', 'gateway').spec?.egress?.[1]?.ports,
        ],
        [{ name: 'HTTPS_PROXY', value: 'http://proxy.gw:3128' }, tcp(443, 8081, 3128)],
      ],
    ],
  },
  {
    name: 'PostgreSQL with a client certificate',
    values: { postgres: { url: 'postgres://grants@db/grants', clientCertificateSecret: 'own' } },
    checks: [
      [
        'postgres.clientCertificateSecret',
        (c) => [
          c.config('authorization-server')['postgres'],
          projected(c, 'authorization-server')?.find(([name]) => name === 'own'),
        ],
        [
          {
            url: 'postgres://grants@db/grants',
            certFile: '/etc/scopegate/secrets/postgres-client.crt',
            keyFile: '/etc/scopegate/secrets/postgres-client.key',
          },
          [
            'own',
            { key: 'tls.crt', path: 'postgres-client.crt' },
            { key: 'tls.key', path: 'postgres-client.key' },
          ],
        ],
      ],
    ],
  },
  {
    name: 'PostgreSQL without a password and a private CA',
    values: { postgres: { url: 'postgres://grants@db/grants' } },
    checks: [
      [
        'postgres.url',
        (c) => c.config('authorization-server')['postgres'],
        { url: 'postgres://grants@db/grants' },
      ],
    ],
  },
  {
    name: 'a name that is too long for the labels',
    values: { fullnameOverride: `${'a'.repeat(33)}-and-more` },
    checks: [
      [
        'fullnameOverride',
        both((c, one) => c.object('Service', one).metadata.name),
        ['', '-authorization-server'].map((suffix) => `${'a'.repeat(33)}-0eeabc${suffix}`),
      ],
    ],
  },
  {
    name: 'the defaults',
    values: {},
    checks: [
      [
        'fullnameOverride, nameOverride',
        (c) => c.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted(),
        [
          'ConfigMap gw-scopegate-authorization-server-config',
          'ConfigMap gw-scopegate-config',
          'ConfigMap gw-scopegate-policies',
          'Deployment gw-scopegate',
          'Deployment gw-scopegate-authorization-server',
          'Pod gw-scopegate-test',
          'Secret gw-scopegate-cookie-keys',
          'Secret gw-scopegate-gateway-client',
          'Service gw-scopegate',
          'Service gw-scopegate-authorization-server',
          'ServiceAccount gw-scopegate',
        ],
      ],
      [
        'namespaceOverride',
        (c) => [...new Set(c.objects.map(({ metadata }) => metadata.namespace))],
        ['shop'],
      ],
      [
        'commonAnnotations, serviceAccount.annotations, service.annotations',
        (c) =>
          c.objects
            .filter(({ metadata }) => metadata.annotations !== undefined)
            .map(({ kind }) => kind)
            .toSorted(),
        ['Pod', 'Secret', 'Secret'],
      ],
      [
        'image.registry, image.tag, image.digest, global.imageRegistry',
        both((c, one) => c.container(one).image),
        [`scopegate:${VERSION}`, `scopegate-authorization-server:${VERSION}`],
      ],
      [
        'nameOverride',
        both((c, one) => rules(c, one)?.selector?.matchLabels),
        BOTH.map((one) => selector(one, 'scopegate')),
      ],
      [
        'topologySpreadConstraints',
        both((c, one) => c.pod(one).topologySpreadConstraints),
        BOTH.map((one) =>
          ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
            ...{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway' },
            labelSelector: { matchLabels: selector(one, 'scopegate') },
            matchLabelKeys: ['pod-template-hash'],
          })),
        ),
      ],
      [
        'imagePullSecrets, priorityClassName, nodeSelector, affinity, tolerations',
        both(({ pod }, one) => {
          const { imagePullSecrets, priorityClassName, nodeSelector, affinity, tolerations } = pod(one)
          return [imagePullSecrets, priorityClassName, nodeSelector, affinity, tolerations]
        }),
        twice(Array(5).fill(undefined)),
      ],
      [
        'service.ports.http, service.ports.management',
        both((c, one) => c.container(one).ports),
        [8080, 8081].map((http) => [
          { name: 'http', containerPort: http, protocol: 'TCP' },
          { name: 'management', containerPort: http + 1010, protocol: 'TCP' },
        ]),
      ],
      [
        'hostAliases, extraInitContainers, extraEnvFrom, extraArgs',
        both(({ pod, container }, one) => {
          const { hostAliases, initContainers } = pod(one)
          const { envFrom, args } = container(one)
          return [hostAliases, initContainers, envFrom, args]
        }),
        twice(Array(4).fill(undefined)),
      ],
      ['replicaCount, authorizationServer.replicaCount', both((c, one) => rules(c, one)?.replicas), twice(1)],
      [
        'redis.url',
        both((c, one) => [rules(c, one)?.strategy?.type, c.env(one, 'REDIS_URL')]),
        [
          ['RollingUpdate', undefined],
          ['Recreate', undefined],
        ],
      ],
      [
        'gateway.config',
        (c) => c.config('gateway'),
        {
          authorizationServer: { upstream: 'authorization-server' },
          baseUrl: 'http://127.0.0.1:8080',
          issuers: [
            {
              issuer: 'http://127.0.0.1:8080',
              introspection: {
                endpoint: 'http://gw-scopegate-authorization-server:8081/api/oauth/introspect',
                clientId: 'gateway',
                clientSecretFile: '/etc/scopegate/secrets/gateway-client-secret',
              },
              revocations: 'http://gw-scopegate-authorization-server:8081/internal/revocations',
            },
          ],
          listen: { host: '0.0.0.0', port: 8080 },
          log: { level: 'info', format: 'default' },
          management: { host: '0.0.0.0', port: 9090, names: names('gw-scopegate', 'shop') },
          name: 'Scopegate',
          policies: '/etc/scopegate/policies',
          scopes: './scopes.yaml',
          upstreams: './upstreams.yaml',
        },
      ],
      [
        'authorizationServer.config, authorizationServer.signIn.local, authorizationServer.signIn.providers, authorizationServer.signIn.secondFactor.mode, authorizationServer.signIn.secondFactor.acr',
        (c) => c.config('authorization-server'),
        {
          cookieKeysFile: '/etc/scopegate/secrets/cookie-keys',
          dataDir: '/var/lib/scopegate',
          gatewayClient: { id: 'gateway', secretFile: '/etc/scopegate/secrets/gateway-client-secret' },
          issuer: 'http://127.0.0.1:8080',
          listen: { host: '0.0.0.0', port: 8081 },
          log: { level: 'info', format: 'default' },
          management: {
            host: '0.0.0.0',
            port: 9091,
            names: names('gw-scopegate-authorization-server', 'shop'),
          },
          name: 'Scopegate',
          scopes: './scopes.yaml',
          signIn: { local: true, providers: [] },
          store: { type: 'sqlite' },
        },
      ],
      [
        'policies.inline, scopes',
        (c) =>
          /all: \["openid"\]/.test(
            c.object('ConfigMap', 'gateway', '-policies').data?.['none-yet.policy.yaml'] ?? '',
          ),
        true,
      ],
      ['presets', (c) => c.object('ConfigMap', 'gateway', '-config').data?.['presets.yaml'], undefined],
      ['policies.reload', (c) => podMeta(c, 'gateway')?.annotations?.['checksum/policies'], undefined],
      [
        'podAnnotations, podLabels',
        both((c, one) => Object.keys(podMeta(c, one)?.annotations ?? {})),
        twice(['checksum/config', 'checksum/secrets']),
      ],
      ['policies.sources', both((c, one) => c.volume(one, 'kubernetes-api')), twice(undefined)],
      [
        'gateway.authorities.existingConfigMap',
        (c) => [c.volume('gateway', 'authorities'), c.mount('gateway', 'authorities')],
        [undefined, undefined],
      ],
      [
        'nameOverride, commonLabels',
        (c) => [...new Set(c.objects.map(({ metadata }) => JSON.stringify(metadata.labels)))].toSorted(),
        ([...BOTH, 'test'] as Component[])
          .map((one) =>
            JSON.stringify({
              'helm.sh/chart': `scopegate-${VERSION}`,
              ...selector(one, 'scopegate'),
              'app.kubernetes.io/part-of': 'scopegate',
              'app.kubernetes.io/version': VERSION,
              'app.kubernetes.io/managed-by': 'Helm',
            }),
          )
          .toSorted(),
      ],
      [
        'authorizationServer.gatewayClient.existingSecret, authorizationServer.cookieSecret.existingSecret',
        (c) =>
          c.objects.flatMap(({ kind, data = {} }) =>
            kind === 'Secret' ? Object.entries(data).map(([key, text]) => [key, decode(text).length]) : [],
          ),
        [
          ['client-secret', 48],
          ['cookie-keys', 48],
        ],
      ],
      [
        'authorizationServer.gatewayClient.existingSecret, authorizationServer.cookieSecret.existingSecret',
        both(
          (c, one) =>
            podMeta(c, one)?.annotations?.['checksum/secrets'] === sumOfSecrets(c, USED_SECRETS[one]),
        ),
        twice(true),
      ],
      ['serviceAccount.name', both((c, one) => c.pod(one).serviceAccountName), twice('gw-scopegate')],
      [
        'gateway.tls.existingSecret',
        (c) => c.object('Service', 'gateway').spec?.ports?.map(({ appProtocol }) => appProtocol),
        ['http', 'http'],
      ],
      [
        'lifecycle, terminationGracePeriodSeconds',
        both((c, one) => [c.container(one).lifecycle, c.pod(one).terminationGracePeriodSeconds]),
        twice([{ preStop: { sleep: { seconds: 10 } } }, 45]),
      ],
      [
        'authorizationServer.resources',
        both((c, one) => c.container(one).resources),
        twice({ requests: { cpu: '100m', memory: '192Mi' }, limits: { memory: '384Mi' } }),
      ],
    ],
  },
  {
    name: 'additions and placement of each component',
    values: {
      ...extrasOf(0),
      ...placementOf(0),
      extraObjects: [
        { ...{ apiVersion: 'v1', kind: 'Secret' }, metadata: { name: 'own-{{ .Release.Name }}' } },
        'apiVersion: v1\nkind: Secret\nmetadata: { name: "text-{{ .Release.Name }}" }',
      ],
      gateway: {
        ...extrasOf(1),
        ...placementOf(1),
        deploymentAnnotations: { reload: 'gateway' },
        resources: { limits: { memory: '1Gi' } },
      },
      authorizationServer: {
        ...extrasOf(2),
        ...placementOf(2),
        deploymentAnnotations: { reload: 'server' },
      },
    },
    checks: [
      [
        everywhere(EXTRAS),
        both((c, one) => {
          const { env, envFrom, args, volumeMounts } = c.container(one)
          const { volumes, containers, initContainers } = c.pod(one)
          return {
            env: env?.slice(-2),
            ...{ envFrom, args, volumes: volumes?.slice(-2), volumeMounts: volumeMounts?.slice(-2) },
            ...{ containers: containers.slice(1), initContainers },
            annotations: Object.entries(podMeta(c, one)?.annotations ?? {}).filter(
              ([key]) => !/^check/.test(key),
            ),
            labels: Object.entries(podMeta(c, one)?.labels ?? {}).filter(([key]) =>
              /^(global|label)/.test(key),
            ),
          }
        }),
        [1, 2].map((own) => ({
          env: [0, own].map((of) => ({ name: `ENV_${of}`, value: 'gw' })),
          envFrom: [0, own].map((of) => ({ secretRef: { name: `gw-${of}` } })),
          args: [`--arg=0`, `--arg=${own}`],
          volumes: [0, own].map((of) => ({ name: `volume-${of}`, configMap: { name: 'gw' } })),
          volumeMounts: [0, own].map((of) => ({ name: `volume-${of}`, mountPath: '/gw' })),
          containers: [0, own].map((of) => ({ name: `container-${of}`, image: 'gw' })),
          initContainers: [0, own].map((of) => ({ name: `init-${of}`, image: 'gw' })),
          annotations: [
            ['annotation-0', '0'],
            [`annotation-${own}`, String(own)],
            ['global', '0'],
          ],
          labels: [
            ['global', '0'],
            ['label-0', '0'],
            [`label-${own}`, String(own)],
          ],
        })),
      ],
      [everywhere(PLACEMENTS), both(placement), [placementOf(1), placementOf(2)]],
      [
        'extraObjects',
        (c) => c.objects.map(({ metadata }) => metadata.name).filter((name) => /^(own|text)-gw$/.test(name)),
        ['own-gw', 'text-gw'],
      ],
      [
        'gateway.deploymentAnnotations, authorizationServer.deploymentAnnotations',
        both((c, one) => c.object('Deployment', one).metadata.annotations?.['reload']),
        ['gateway', 'server'],
      ],
      [
        'gateway.resources',
        both((c, one) => c.container(one).resources?.limits?.['memory']),
        ['1Gi', '384Mi'],
      ],
      [
        'gateway.resources',
        both((c, one) => c.env(one, 'NODE_OPTIONS')),
        ['--max-old-space-size=768', '--max-old-space-size=288'],
      ],
    ],
  },
  {
    name: 'all fields of the Services',
    values: {
      service: { ...SERVICE, nodePort: 30080, annotations: { of: 'gateway' }, labels: { of: 'gateway' } },
      authorizationServer: {
        service: { ...SERVICE, nodePort: 30081, annotations: { of: 'server' }, labels: { of: 'server' } },
      },
    },
    checks: [
      [
        ['service.', 'authorizationServer.service.']
          .flatMap((path) => [...Object.keys(SERVICE), 'nodePort'].map((key) => path + key))
          .join(', '),
        both((c, one) => c.object('Service', one).spec),
        BOTH.map((one, at) => ({
          ...{ ...SERVICE, selector: selector(one, 'scopegate') },
          ports: [{ ...HTTP, port: 8080 + at, nodePort: 30080 + at }],
        })),
      ],
      [
        'service.annotations, service.labels, authorizationServer.service.annotations, authorizationServer.service.labels',
        both((c, one) => {
          const { annotations, labels } = c.object('Service', one).metadata
          return [annotations, labels?.['of']]
        }),
        ['gateway', 'server'].map((of) => [{ of }, of]),
      ],
    ],
  },
  {
    name: 'an Ingress and an HTTPRoute with given hosts',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      service: { ports: { http: 443 } },
      ingress: {
        enabled: true,
        className: 'nginx',
        annotations: { timeout: '60' },
        labels: { of: 'ingress' },
        hosts: [
          { host: 'a.example.org', paths: [{ path: '/x', pathType: 'Exact' }] },
          { host: 'b.example.org' },
          'c.example.org',
        ],
        tls: [{ secretName: 'own-tls', hosts: ['a.example.org'] }],
        certManager: { issuer: 'own', annotation: 'cert-manager.io/issuer' },
      },
      httpRoute: {
        enabled: true,
        annotations: { of: 'route' },
        labels: { of: 'route' },
        parentRefs: [PARENT],
        hostnames: ['a.example.org'],
        filters: [{ type: 'URLRewrite' }],
        timeouts: { request: '9s' },
        additionalRules: [{ name: 'own' }],
      },
    },
    checks: [
      [
        'ingress.enabled, ingress.className, ingress.hosts, ingress.tls',
        (c) => c.object('Ingress', 'gateway').spec,
        {
          ingressClassName: 'nginx',
          rules: [
            { host: 'a.example.org', http: onIngress(['/x'], 'Exact') },
            { host: 'b.example.org', http: onIngress(['/']) },
            { host: 'c.example.org', http: onIngress(['/']) },
          ],
          tls: [{ secretName: 'own-tls', hosts: ['a.example.org'] }],
        },
      ],
      [
        'ingress.annotations, ingress.certManager.issuer, ingress.certManager.annotation',
        (c) => c.object('Ingress', 'gateway').metadata.annotations,
        { 'cert-manager.io/issuer': 'own', timeout: '60' },
      ],
      [
        'ingress.labels, httpRoute.labels, httpRoute.annotations',
        (c) => {
          const { labels, annotations } = c.object('HTTPRoute', 'gateway').metadata
          return [c.object('Ingress', 'gateway').metadata.labels?.['of'], labels?.['of'], annotations]
        },
        ['ingress', 'route', { of: 'route' }],
      ],
      [
        'httpRoute.enabled, httpRoute.parentRefs, httpRoute.hostnames, httpRoute.filters, httpRoute.timeouts, httpRoute.additionalRules',
        (c) => c.objects.filter(({ kind }) => kind === 'HTTPRoute').map(({ spec }) => spec),
        [
          {
            parentRefs: [PARENT],
            hostnames: ['a.example.org'],
            rules: [
              { name: 'own' },
              {
                matches: [{ path: { type: 'PathPrefix', value: '/' } }],
                filters: [{ type: 'URLRewrite' }],
                timeouts: { request: '9s' },
                backendRefs: [{ name: 'gw-scopegate', port: 443 }],
              },
            ],
          },
        ],
      ],
    ],
  },
  {
    name: 'an Ingress and HTTPRoutes for a base URL and an issuer with another host',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      authorizationServer: { issuer: 'https://login.example.org' },
      ingress: { enabled: true, certManager: { issuer: 'own' } },
      httpRoute: { enabled: true, parentRefs: [PARENT] },
    },
    checks: [
      [
        'ingress.hosts, ingress.tls, ingress.className',
        (c) => c.object('Ingress', 'gateway').spec,
        {
          rules: [
            { host: 'api.example.org', http: onIngress(['/']) },
            { host: 'login.example.org', http: onIngress(SERVER_PATHS) },
          ],
          tls: [{ secretName: 'gw-scopegate-ingress-tls', hosts: ['api.example.org', 'login.example.org'] }],
        },
      ],
      [
        'ingress.certManager.annotation',
        (c) => c.object('Ingress', 'gateway').metadata.annotations,
        { 'cert-manager.io/cluster-issuer': 'own' },
      ],
      [
        'httpRoute.hostnames, httpRoute.filters, httpRoute.timeouts, httpRoute.additionalRules',
        (c) =>
          c.objects.flatMap(({ kind, metadata, spec }) =>
            kind === 'HTTPRoute' ? [[metadata.name, spec]] : [],
          ),
        [
          ['gw-scopegate', 'api.example.org', ['/']] as const,
          ['gw-scopegate-issuer', 'login.example.org', SERVER_PATHS] as const,
        ].map(([name, hostname, paths]) => [
          name,
          {
            ...{ parentRefs: [PARENT], hostnames: [hostname] },
            rules: [
              {
                matches: paths.map((value) => ({ path: { type: 'PathPrefix', value } })),
                backendRefs: [{ name: 'gw-scopegate', port: 8080 }],
              },
            ],
          },
        ]),
      ],
    ],
  },
  {
    name: 'an Ingress with a Certificate of cert-manager',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      ingress: { enabled: true },
      certificate: {
        enabled: true,
        issuerRef: { name: 'own', kind: 'Issuer', group: 'issuers.example.org' },
        dnsNames: ['a.example.org'],
        secretName: 'api',
        usedBy: 'ingress',
      },
    },
    checks: [
      [
        'certificate',
        (c) => [
          c.object('Certificate', 'gateway').spec,
          c.object('Ingress', 'gateway').spec?.tls,
          c.object('Service', 'gateway').spec?.ports?.[0]?.appProtocol,
        ],
        [
          {
            ...{ secretName: 'api', dnsNames: ['a.example.org'] },
            issuerRef: { name: 'own', kind: 'Issuer', group: 'issuers.example.org' },
          },
          [{ secretName: 'api', hosts: ['a.example.org'] }],
          'http',
        ],
      ],
    ],
  },
  {
    name: 'a gateway that serves HTTPS with a Certificate of cert-manager',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      authorizationServer: { issuer: 'https://login.example.org' },
      ingress: { enabled: true },
      certificate: { enabled: true, issuerRef: { name: 'own' } },
    },
    checks: [
      [
        'certificate',
        (c) => [
          c.object('Certificate', 'gateway').spec,
          c.object('Ingress', 'gateway').spec?.tls,
          c.object('Service', 'gateway').spec?.ports?.[0]?.appProtocol,
          c.config('gateway')['tls'],
          projected(c, 'gateway')?.at(-1),
        ],
        [
          {
            secretName: 'gw-scopegate-certificate',
            issuerRef: { name: 'own', kind: 'ClusterIssuer', group: 'cert-manager.io' },
            dnsNames: ['api.example.org', 'login.example.org'],
          },
          undefined,
          'https',
          {
            certFile: '/etc/scopegate/secrets/tls.crt',
            keyFile: '/etc/scopegate/secrets/tls.key',
            minVersion: 'TLSv1.2',
            http2: false,
          },
          [
            'gw-scopegate-certificate',
            { key: 'tls.crt', path: 'tls.crt' },
            { key: 'tls.key', path: 'tls.key' },
          ],
        ],
      ],
    ],
  },
  {
    name: 'an Ingress without TLS',
    values: { gateway: { baseUrl: 'http://api.example.org' }, ingress: { enabled: true } },
    checks: [
      [
        'ingress.tls, ingress.certManager.issuer',
        (c) => [c.object('Ingress', 'gateway').spec, c.object('Ingress', 'gateway').metadata.annotations],
        [{ rules: [{ host: 'api.example.org', http: onIngress(['/']) }] }, undefined],
      ],
    ],
  },
  {
    name: 'scaling and disruption budgets of both services',
    values: {
      redis: { url: 'redis://redis:6379' },
      autoscaling: {
        ...{ enabled: true, minReplicas: 3, maxReplicas: 9, targetCPUUtilizationPercentage: 55 },
        ...{ targetMemoryUtilizationPercentage: 66, metrics: [{ type: 'Pods' }] },
        behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
      },
      podDisruptionBudget: { enabled: true, minAvailable: '50%', unhealthyPodEvictionPolicy: '' },
      authorizationServer: {
        signingKeys: { existingSecret: 'signing' },
        autoscaling: { ...{ enabled: true, minReplicas: 2 }, ...{ maxReplicas: 4 } },
        podDisruptionBudget: {
          enabled: true,
          maxUnavailable: 2,
          unhealthyPodEvictionPolicy: 'IfHealthyBudget',
        },
      },
    },
    checks: [
      [
        ['', 'authorizationServer.']
          .flatMap((path) =>
            [
              ...['enabled', 'minReplicas', 'maxReplicas', 'targetCPUUtilizationPercentage'],
              ...['targetMemoryUtilizationPercentage', 'metrics', 'behavior'],
            ].map((key) => `${path}autoscaling.${key}`),
          )
          .join(', '),
        both((c, one) => c.object('HorizontalPodAutoscaler', one).spec),
        [
          {
            scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'gw-scopegate' },
            ...{ minReplicas: 3, maxReplicas: 9 },
            metrics: [utilization('cpu', 55), utilization('memory', 66), { type: 'Pods' }],
            behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
          },
          {
            scaleTargetRef: {
              ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'gw-scopegate-authorization-server' },
            },
            ...{ minReplicas: 2, maxReplicas: 4 },
            metrics: [utilization('cpu', 75)],
          },
        ],
      ],
      [
        'autoscaling.enabled, authorizationServer.autoscaling.enabled',
        both((c, one) => rules(c, one)?.replicas),
        twice(undefined),
      ],
      [
        ['', 'authorizationServer.']
          .flatMap((path) =>
            ['enabled', 'minAvailable', 'maxUnavailable', 'unhealthyPodEvictionPolicy'].map(
              (key) => `${path}podDisruptionBudget.${key}`,
            ),
          )
          .join(', '),
        both((c, one) => c.object('PodDisruptionBudget', one).spec),
        [
          { minAvailable: '50%', selector: { matchLabels: selector('gateway', 'scopegate') } },
          {
            ...{ maxUnavailable: 2, unhealthyPodEvictionPolicy: 'IfHealthyBudget' },
            selector: { matchLabels: selector('authorization-server', 'scopegate') },
          },
        ],
      ],
    ],
  },
  {
    name: 'a disruption budget with its defaults',
    values: { podDisruptionBudget: { enabled: true } },
    checks: [
      [
        'podDisruptionBudget.maxUnavailable',
        (c) => c.object('PodDisruptionBudget', 'gateway').spec,
        {
          ...{ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
          selector: { matchLabels: selector('gateway', 'scopegate') },
        },
      ],
    ],
  },
  {
    name: 'decisions for an ingress',
    values: {
      gateway: { trustedProxies: ['10.0.0.0/8'] },
      decisions: { enabled: true, protocol: 'forward-auth', headers: { target: 'X-Target' } },
      service: { ports: { decisions: 4000 } },
      networkPolicy: { enabled: true, gateway: { decisionsFrom: [{ ipBlock: { cidr: '192.0.2.0/24' } }] } },
    },
    checks: [
      [
        'decisions.enabled, decisions.protocol, decisions.headers',
        (c) => c.config('gateway')['decisions'],
        {
          listen: { host: '0.0.0.0', port: 4010 },
          protocol: 'forward-auth',
          headers: { target: 'X-Target' },
        },
      ],
      [
        'decisions.enabled',
        (c) => c.container('gateway').ports?.map(({ name, containerPort }) => [name, containerPort]),
        [
          ['decisions', 4010],
          ['http', 8080],
          ['management', 9090],
        ],
      ],
      [
        'service.ports.decisions',
        (c) => c.object('Service', 'gateway').spec?.ports?.at(-1),
        { ...MANAGEMENT, name: 'decisions', port: 4000, targetPort: 'decisions' },
      ],
      [
        'networkPolicy.gateway.decisionsFrom',
        (c) => c.object('NetworkPolicy', 'gateway').spec?.ingress?.at(-1),
        {
          ports: [{ port: 'decisions', protocol: 'TCP' }],
          from: [{ ipBlock: { cidr: '192.0.2.0/24' } }],
        },
      ],
      [
        'decisions.enabled',
        (c) => c.object('NetworkPolicy', 'authorization-server').spec?.ingress?.length,
        2,
      ],
    ],
  },
  {
    name: 'decisions with the headers of the protocol',
    values: { gateway: { trustedProxies: ['10.0.0.0/8'] }, decisions: { enabled: true } },
    checks: [
      [
        'decisions.headers',
        (c) => c.config('gateway')['decisions'],
        { listen: { host: '0.0.0.0', port: 4010 }, protocol: 'auth-request' },
      ],
    ],
  },
  {
    name: 'no decisions',
    values: { networkPolicy: { enabled: true } },
    checks: [
      ['decisions.enabled', (c) => c.object('NetworkPolicy', 'gateway').spec?.ingress?.length, 2],
      ['decisions.enabled', (c) => c.container('gateway').ports?.length, 2],
      ['decisions.enabled', (c) => c.config('gateway')['decisions'], undefined],
      ['service.ports.decisions', (c) => c.object('Service', 'gateway').spec?.ports?.length, 2],
    ],
  },
  {
    name: 'traces',
    values: {
      tracing: {
        ...{ endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
        headers: { existingSecret: 'otlp', key: 'all' },
      },
    },
    checks: [
      [
        'tracing.endpoint, tracing.sampleRatio, tracing.trustIncoming',
        both((c, one) => c.config(one)['tracing']),
        [
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
        ],
      ],
      [
        'tracing.headers.existingSecret, tracing.headers.key',
        both((c, one) => c.container(one).env?.filter(({ name }) => name.startsWith('OTEL'))),
        twice([
          {
            name: 'OTEL_EXPORTER_OTLP_HEADERS',
            valueFrom: { secretKeyRef: { name: 'otlp', key: 'all' } },
          },
        ]),
      ],
    ],
  },
  {
    name: 'traces of the gateway that the authorization server continues',
    values: { tracing: { endpoint: 'http://otel:4318', sampleRatio: 0.1 } },
    checks: [
      [
        'tracing.trustIncoming',
        both((c, one) => c.config(one)['tracing']),
        [
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'trusted-proxies' },
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'always' },
        ],
      ],
    ],
  },
  {
    name: 'no traces',
    values: {},
    checks: [
      ['tracing.endpoint', both((c, one) => c.config(one)['tracing']), twice(undefined)],
      [
        'tracing.headers.existingSecret',
        both((c, one) => c.container(one).env?.some(({ name }) => name.startsWith('OTEL'))),
        twice(false),
      ],
    ],
  },
  {
    name: 'network policies with given peers and further rules',
    values: {
      extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      gateway: {
        extraEnv: [{ name: 'A', value: 'https://a:1001' }],
        issuers: [{ issuer: 'https://login.example.org', jwt: {} }],
      },
      authorizationServer: {
        extraEnv: [{ name: 'B', value: 'https://b:1002' }],
        clientDocuments: { domains: ['agents.example.org:1003'] },
        config: { registration: { clientDocuments: { domains: ['agents.example.org:1004'] } } },
      },
      policies: { inline: { 'books.policy.yaml': `${POLICY}upstream: http://books:1005\n` } },
      redis: { existingSecret: 'own' },
      gatewayRedis: { sentinel: { name: 'main', addresses: ['sentinel:26379'] } },
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ podSelector: { of: 'metrics' } }],
        redisPorts: [7001, 7002],
        gateway: {
          from: [{ podSelector: { of: 'gateway' } }],
          extraIngress: [{ ports: tcp(1) }],
          extraEgress: [{ ports: tcp(2) }],
        },
        authorizationServer: {
          from: [{ podSelector: { of: 'server' } }],
          extraIngress: [{ ports: tcp(3) }],
          extraEgress: [{ ports: tcp(4) }],
        },
      },
    },
    checks: [
      [
        'networkPolicy.enabled, networkPolicy.metricsFrom, networkPolicy.redisPorts, networkPolicy.gateway, networkPolicy.authorizationServer',
        both((c, one) => c.object('NetworkPolicy', one).spec),
        [
          { one: 'gateway', more: [1, 2], dialled: [7001, 7002, 26379, 3128, 1001, 8081, 443, 1005] },
          { one: 'authorization-server', more: [3, 4], dialled: [7001, 7002, 3128, 1002, 1003, 1004] },
        ].map(({ one, more: [ingress = 0, egress = 0], dialled }) => ({
          podSelector: { matchLabels: selector(one as Component, 'scopegate') },
          policyTypes: ['Ingress', 'Egress'],
          ingress: [
            {
              ports: tcp('http'),
              from: [
                { podSelector: { of: one === 'gateway' ? 'gateway' : 'server' } },
                ...(one === 'gateway' ? [TEST_PEER] : []),
              ],
            },
            {
              ports: tcp('management'),
              from: [{ podSelector: { of: 'metrics' } }, ...(one === 'gateway' ? [TEST_PEER] : [])],
            },
            { ports: tcp(ingress) },
          ],
          egress: [DNS, { ports: tcp(...dialled) }, { ports: tcp(egress) }],
        })),
      ],
    ],
  },
  {
    name: 'network policies with defaults',
    values: {
      postgres: { url: 'postgresql://grants@db/grants' },
      redis: { cluster: { addresses: ['redis-0:7000'] } },
      networkPolicy: { enabled: true },
    },
    checks: [
      [
        'networkPolicy.gateway, networkPolicy.authorizationServer',
        both((c, one) => {
          const { ingress, egress } = c.object('NetworkPolicy', one).spec ?? {}
          return [ingress, egress]
        }),
        [
          [
            [{ ports: tcp('http') }, { ports: tcp('management') }],
            [DNS, { ports: tcp(7000, 6379, 8081) }],
          ],
          [
            [
              {
                ports: tcp('http'),
                from: [{ podSelector: { matchLabels: selector('gateway', 'scopegate') } }],
              },
              { ports: tcp('management') },
            ],
            [DNS, { ports: tcp(5432) }],
          ],
        ],
      ],
    ],
  },
  {
    name: 'network policies of services that connect to nothing',
    values: { networkPolicy: { enabled: true } },
    checks: [
      [
        'networkPolicy.redisPorts',
        both((c, one) => c.object('NetworkPolicy', one).spec?.egress),
        [[DNS, { ports: tcp(8081) }], [DNS]],
      ],
    ],
  },
  {
    name: 'network policies with one address of Redis',
    values: { redis: { url: 'redis://redis:7000' }, networkPolicy: { enabled: true } },
    checks: [
      [
        'redis.url',
        both((c, one) => c.object('NetworkPolicy', one).spec?.egress),
        [
          [DNS, { ports: tcp(8081, 7000) }],
          [DNS, { ports: tcp(7000) }],
        ],
      ],
    ],
  },
  {
    name: 'monitors, rules and dashboards',
    values: {
      metrics: {
        serviceMonitor: { enabled: true, ...monitorOf('1'), annotations: { of: '1' }, labels: { of: '1' } },
        podMonitor: { enabled: true, ...monitorOf('2'), annotations: { of: '2' }, labels: { of: '2' } },
        prometheusRule: {
          ...{ enabled: true, annotations: { of: '3' }, labels: { of: '3' } },
          groups: [{ name: 'own', rules: [] }],
          objectives: {
            gateway: { availability: 99, latency: 97 },
            authorizationServer: { availability: 98.5, latency: 96 },
          },
        },
        dashboards: { enabled: true, annotations: { of: '4' }, labels: { of: '4' } },
      },
      alerts: { runbookUrlBase: 'https://runbooks.example.org/' },
    },
    checks: [
      [
        'metrics.serviceMonitor, metrics.podMonitor',
        (c) => ['ServiceMonitor', 'PodMonitor'].map((kind) => c.object(kind, 'gateway').spec),
        [
          { selector: MONITORED, endpoints: [{ port: 'management', ...monitorOf('1') }] },
          { selector: MONITORED, podMetricsEndpoints: [{ port: 'management', ...monitorOf('2') }] },
        ],
      ],
      [
        'metrics.serviceMonitor, metrics.podMonitor, metrics.prometheusRule, metrics.dashboards.annotations, metrics.dashboards.labels',
        (c) => [
          ...['ServiceMonitor', 'PodMonitor', 'PrometheusRule'].map((kind) =>
            marks(c.object(kind, 'gateway').metadata),
          ),
          marks(c.object('ConfigMap', 'gateway', '-dashboard-overview').metadata),
        ],
        ['1', '2', '3'].map((of) => [{ of }, of]).concat([[{ of: '4' }, '4']]),
      ],
      [
        'metrics.prometheusRule, alerts.runbookUrlBase',
        (c) => c.object('PrometheusRule', 'gateway').spec,
        {
          groups: [
            { name: 'own', rules: [] },
            ...filesOf('alerts').flatMap((text) => parse(withObjectives(text)).groups),
          ],
        },
      ],
      [
        'metrics.dashboards.enabled',
        (c) =>
          c.objects
            .filter(({ metadata }) => metadata.name.startsWith('gw-scopegate-dashboard-'))
            .map(({ data = {} }) => Object.values(data).map((text) => JSON.parse(text))),
        filesOf('dashboards').map((text) => [JSON.parse(text)]),
      ],
    ],
  },
  {
    name: 'only the authorization server',
    values: {
      gateway: { enabled: false, baseUrl: 'https://login.example.org' },
      httpRoute: { enabled: true, parentRefs: [PARENT] },
      ingress: { enabled: true },
      networkPolicy: { enabled: true },
      tracing: { endpoint: 'http://otel:4318', sampleRatio: 0.1 },
    },
    checks: [
      [
        'tracing.trustIncoming',
        (c) => c.config('authorization-server')['tracing'],
        { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
      ],
      [
        'gateway.enabled',
        (c) => c.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted(),
        [
          'ConfigMap gw-scopegate-authorization-server-config',
          'Deployment gw-scopegate-authorization-server',
          'HTTPRoute gw-scopegate',
          'Ingress gw-scopegate',
          'NetworkPolicy gw-scopegate-authorization-server',
          'Pod gw-scopegate-test',
          'Secret gw-scopegate-cookie-keys',
          'Secret gw-scopegate-gateway-client',
          'Service gw-scopegate-authorization-server',
          'ServiceAccount gw-scopegate',
        ],
      ],
      [
        'gateway.enabled, imagePullSecrets',
        (c) => {
          const spec = testSpec(c)
          return [spec?.imagePullSecrets, spec?.containers[0]?.env, testArgs(c)]
        },
        [
          undefined,
          undefined,
          [
            '200 http://gw-scopegate-authorization-server:8081/.well-known/oauth-authorization-server',
            '401 http://gw-scopegate-authorization-server:8081/api/oauth/userinfo',
          ],
        ],
      ],
      [
        'gateway.enabled',
        (c) => [
          c.object('HTTPRoute', 'authorization-server').spec,
          c.object('Ingress', 'authorization-server').spec?.rules,
          c.object('NetworkPolicy', 'authorization-server').spec?.ingress,
        ],
        [
          {
            ...{ parentRefs: [PARENT], hostnames: ['login.example.org'] },
            rules: [
              {
                matches: SERVER_PATHS.map((value) => ({ path: { type: 'PathPrefix', value } })),
                backendRefs: [{ name: 'gw-scopegate-authorization-server', port: 8081 }],
              },
            ],
          },
          [
            {
              host: 'login.example.org',
              http: onIngress(SERVER_PATHS, 'Prefix', 'gw-scopegate-authorization-server'),
            },
          ],
          [{ ports: tcp('http') }, { ports: tcp('management') }],
        ],
      ],
    ],
  },
  {
    name: 'policy sources from ConfigMaps with a label',
    values: {
      image: { tag: '7', pullPolicy: 'Always' },
      containerSecurityContext: CONTAINER_SECURITY,
      networkPolicy: { enabled: true },
      policies: {
        sources: [
          { name: 'own', configMap: 'own', permissions: { pathPrefixes: ['/own'] } },
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            selector: { label: 'policies', value: 'books', namespace: 'team' },
          },
          {
            ...{ name: 'orders', permissions: { pathPrefixes: ['/orders'] } },
            selector: { label: 'policies', value: 'orders' },
          },
        ],
        sidecar: {
          image: { repository: 'sidecar', tag: '9' },
          resources: { requests: { cpu: '1m', memory: null }, limits: { memory: '9Mi' } },
        },
      },
    },
    checks: [
      [
        'policies.sidecar.image.repository, policies.sidecar.image.tag, policies.sidecar.resources, policies.sources',
        (c) =>
          c
            .pod('gateway')
            .containers.slice(1)
            .map(({ securityContext, ...one }) => ({ ...one, runAsUser: securityContext?.runAsUser })),
        [
          { name: 'books', namespace: 'team', index: 1 },
          { name: 'orders', namespace: 'shop', index: 2 },
        ].map(({ name, namespace, index }) => ({
          ...{ name: `policies-${name}`, image: 'sidecar:9', imagePullPolicy: 'Always', runAsUser: 7 },
          resources: { requests: { cpu: '1m' }, limits: { memory: '9Mi' } },
          env: [
            { name: 'FOLDER', value: '/policies' },
            { name: 'LABEL', value: 'policies' },
            { name: 'LABEL_VALUE', value: name },
            { name: 'METHOD', value: 'WATCH' },
            { name: 'NAMESPACE', value: namespace },
            { name: 'RESOURCE', value: 'configmap' },
          ],
          volumeMounts: [
            { name: `source-${index}`, mountPath: '/policies' },
            {
              ...{ name: 'kubernetes-api', readOnly: true },
              mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
            },
          ],
        })),
      ],
      [
        'policies.sources',
        (c) => [
          ...[0, 1].map((at) => [c.volume('gateway', `source-${at}`), c.mount('gateway', `source-${at}`)]),
          ...[c.volume('gateway', 'kubernetes-api'), c.mount('gateway', 'kubernetes-api')],
        ],
        [
          [{ configMap: { name: 'own', optional: true } }, ['/etc/scopegate/policies/own', true]],
          [{ emptyDir: {} }, ['/etc/scopegate/policies/books', true]],
          {
            projected: {
              sources: [
                { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
                { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
                {
                  downwardAPI: {
                    items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }],
                  },
                },
              ],
            },
          },
          undefined,
        ],
      ],
      [
        'policies.sources',
        (c) =>
          c.objects
            .filter(({ kind }) => kind.startsWith('Role'))
            .map(({ kind, metadata, rules, roleRef, subjects }) =>
              [kind, metadata.namespace, metadata.name, rules ?? [roleRef, subjects]]
                .map((one) => JSON.stringify(one))
                .join(' '),
            )
            .toSorted(),
        (
          [
            ['team', 'shop.gw-scopegate-source-1'],
            ['shop', 'gw-scopegate-source-2'],
          ] as const
        )
          .flatMap(([namespace, name]) => [
            [
              'Role',
              namespace,
              name,
              [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
            ],
            [
              ...['RoleBinding', namespace, name],
              [
                { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
                [{ kind: 'ServiceAccount', name: 'gw-scopegate', namespace: 'shop' }],
              ],
            ],
          ])
          .map((one) => one.map((part) => JSON.stringify(part)).join(' '))
          .toSorted(),
      ],
      [
        'networkPolicy.enabled',
        both((c, one) => c.object('NetworkPolicy', one).spec?.egress),
        [[DNS, { ports: tcp(443, 6443, 8081) }], [DNS]],
      ],
    ],
  },
  {
    name: 'policy sources from git',
    values: {
      image: { registry: 'own.example.org', tag: '7', pullPolicy: 'Always' },
      containerSecurityContext: CONTAINER_SECURITY,
      networkPolicy: { enabled: true },
      extraInitContainers: [{ name: 'first', image: 'first' }],
      policies: {
        sources: [
          { name: 'own', configMap: 'own', permissions: { pathPrefixes: ['/own'] } },
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            git: {
              ...{ url: 'https://git.example.org:8443/books.git', ref: 'main', path: 'deploy/policies' },
              ...{ period: '5m', depth: 0, existingSecret: 'books-git' },
            },
          },
          {
            ...{ name: 'orders', permissions: { pathPrefixes: ['/orders'] } },
            git: { url: 'ssh://git@git.example.org:2222/orders.git', existingSecret: 'orders-git' },
          },
          {
            ...{ name: 'notes', permissions: { pathPrefixes: ['/notes'] } },
            git: { url: 'git@git.example.org:notes.git', existingSecret: 'notes-git' },
          },
          {
            ...{ name: 'public', permissions: { pathPrefixes: ['/public'] } },
            git: { url: 'https://git.example.org/public.git' },
          },
        ],
        gitSync: {
          image: { registry: 'mirror', repository: 'git', tag: '9' },
          resources: { requests: { cpu: '1m', memory: null }, limits: { memory: '256Mi' } },
          startTimeoutSeconds: 7,
        },
      },
    },
    checks: [
      [
        'policies.gitSync.image.registry, policies.gitSync.image.repository, policies.gitSync.image.tag, policies.gitSync.resources, policies.sources',
        (c) => c.pod('gateway').initContainers?.slice(0, 5).map(sortEnvironment),
        [
          { name: 'first', image: 'first' },
          gitSidecar(1, 'books', {
            env: {
              ...{ REPO: 'https://git.example.org:8443/books.git', REF: 'main', PERIOD: '5m', DEPTH: '0' },
              PASSWORD_FILE: '/etc/git-secret/password',
            },
            secret: true,
          }),
          gitSidecar(2, 'orders', { env: ofSsh('ssh://git@git.example.org:2222/orders.git'), ssh: true }),
          gitSidecar(3, 'notes', { env: ofSsh('git@git.example.org:notes.git'), ssh: true }),
          gitSidecar(4, 'public', {
            env: { REPO: 'https://git.example.org/public.git', REF: 'HEAD', PERIOD: '30s', DEPTH: '1' },
          }),
        ].map(sortEnvironment),
      ],
      [
        'policies.gitSync.startTimeoutSeconds, policies.gitSync.resources, image.tag',
        (c) => {
          const { command, ...wait } = c.pod('gateway').initContainers?.[5] ?? { name: '', image: '' }
          return { ...wait, command: command?.slice(0, 3) }
        },
        {
          ...{ name: 'wait-for-policies', image: 'own.example.org/scopegate:7', imagePullPolicy: 'Always' },
          securityContext: WITH_CONTAINER_SECURITY,
          resources: { requests: { cpu: '1m' }, limits: { memory: '256Mi' } },
          command: ['node', '--input-type=module', '--eval'],
          args: [
            '7',
            ...['books', 'orders', 'notes', 'public'].map(
              (name) => `/etc/scopegate/policies/${name}/current`,
            ),
          ],
          volumeMounts: ['books', 'orders', 'notes', 'public'].map((name, at) => ({
            ...{ name: `source-${at + 1}`, mountPath: `/etc/scopegate/policies/${name}`, readOnly: true },
          })),
        },
      ],
      [
        'policies.sources',
        (c) => {
          const all = [1, 2, 4].flatMap((at) => ['', '-tmp', '-secret'].map((end) => `source-${at}${end}`))
          return Object.fromEntries(
            [...all, 'git', 'kubernetes-api'].map((name) => [
              name,
              [c.volume('gateway', name), c.mount('gateway', name)?.[0]],
            ]),
          )
        },
        {
          'source-1': [
            { emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
            '/etc/scopegate/policies/books',
          ],
          'source-1-tmp': [{ emptyDir: {} }, undefined],
          'source-1-secret': [secretVolume('books-git'), undefined],
          'source-2': [
            { emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
            '/etc/scopegate/policies/orders',
          ],
          'source-2-tmp': [{ emptyDir: {} }, undefined],
          'source-2-secret': [secretVolume('orders-git'), undefined],
          'source-4': [
            { emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
            '/etc/scopegate/policies/public',
          ],
          'source-4-tmp': [{ emptyDir: {} }, undefined],
          'source-4-secret': [undefined, undefined],
          git: [{ configMap: { name: 'gw-scopegate-git', defaultMode: 0o555 } }, undefined],
          'kubernetes-api': [undefined, undefined],
        },
      ],
      [
        'policies.sources',
        ({ config }) =>
          (
            config('gateway')['policySources'] as { folder: string; root?: string; lastFetchFile?: string }[]
          ).map(({ folder, root, lastFetchFile }) => [folder, root, lastFetchFile]),
        [
          ['/etc/scopegate/policies/own', undefined, undefined],
          ...['books', 'orders', 'notes', 'public'].map((name) => [
            `/etc/scopegate/policies/${name}/current${name === 'books' ? '/deploy/policies' : ''}`,
            `/etc/scopegate/policies/${name}`,
            `/etc/scopegate/policies/${name}/.git/last-fetch`,
          ]),
        ],
      ],
      [
        'containerSecurityContext',
        (c) => {
          const { metadata, data } = c.object('ConfigMap', 'gateway', '-git')
          return [metadata.namespace, data]
        },
        ['shop', { git: gitProgram(32_768, 4_096), passwd: 'scopegate:x:7:7::/tmp:/sbin/nologin\n' }],
      ],
      [
        'networkPolicy.enabled',
        both((c, one) => c.object('NetworkPolicy', one).spec?.egress),
        [[DNS, { ports: tcp(8443, 2222, 22, 443, 8081) }], [DNS]],
      ],
    ],
  },
  {
    name: 'a policy source from git over HTTPS',
    values: {
      policies: {
        sources: [
          {
            ...{ name: 'public', permissions: { pathPrefixes: ['/public'] } },
            git: { url: 'https://git.example.org/public.git' },
          },
        ],
      },
    },
    checks: [
      [
        'policies.sources',
        (c) => [c.volume('gateway', 'source-0'), c.mount('gateway', 'git')],
        [{ emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } }, undefined],
      ],
      [
        'policies.gitSync.resources',
        (c) => c.object('ConfigMap', 'gateway', '-git').data,
        { git: gitProgram(65_536, 8_192) },
      ],
    ],
  },
  {
    name: 'policy sources from git and from images, without other init containers',
    values: {
      global: { imageRegistry: 'mirror' },
      imagePullSecrets: [{ name: 'all' }],
      podSecurityContext: { runAsUser: 9 },
      policies: {
        reload: 'hot',
        gitSync: { image: { digest: DIGESTS.server } },
        sources: [
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            git: { url: 'git@git.example.org:books.git', existingSecret: 'books-git' },
          },
          ...['a', 'b'].map((name) => ({
            ...{ name, permissions: { pathPrefixes: [`/${name}`] } },
            oci: { reference: `r.example.org/${name}@${DIGESTS.gateway}`, existingSecret: 'registry' },
          })),
          {
            ...{ name: 'c', permissions: { pathPrefixes: ['/c'] } },
            oci: { reference: `r.example.org/c@${DIGESTS.gateway}`, path: 'deploy' },
          },
        ],
      },
    },
    checks: [
      [
        'policies.gitSync.image.digest, global.imageRegistry',
        (c) => c.pod('gateway').initContainers?.map(({ image }) => image),
        [`mirror/git-sync/git-sync@${DIGESTS.server}`, `mirror/scopegate:${VERSION}`],
      ],
      [
        'imagePullSecrets, policies.sources',
        both((c, one) => c.pod(one).imagePullSecrets),
        [[{ name: 'all' }, { name: 'registry' }], [{ name: 'all' }]],
      ],
      [
        'policies.sources',
        (c) => [1, 3].map((at) => [c.volume('gateway', `source-${at}`), c.mount('gateway', `source-${at}`)]),
        ['a', 'c'].map((name) => [
          { image: { reference: `r.example.org/${name}@${DIGESTS.gateway}`, pullPolicy: 'IfNotPresent' } },
          [`/etc/scopegate/policies/${name}`, true],
        ]),
      ],
      [
        'policies.sources',
        ({ config }) =>
          (config('gateway')['policySources'] as { folder: string; root?: string }[])
            .slice(1)
            .map(({ folder, root }) => [folder, root]),
        [
          ['/etc/scopegate/policies/a', '/etc/scopegate/policies/a'],
          ['/etc/scopegate/policies/b', '/etc/scopegate/policies/b'],
          ['/etc/scopegate/policies/c/deploy', '/etc/scopegate/policies/c'],
        ],
      ],
      [
        'podSecurityContext',
        (c) => c.object('ConfigMap', 'gateway', '-git').data?.['passwd'],
        'scopegate:x:9:9::/tmp:/sbin/nologin\n',
      ],
    ],
  },
  {
    name: 'a policy source of a sidecar with a digest',
    values: {
      policies: {
        sources: [{ name: 'a', selector: { label: 'policies' }, permissions: { pathPrefixes: ['/a'] } }],
        sidecar: { image: { digest: DIGESTS.server } },
      },
    },
    checks: [
      [
        'policies.sidecar.image.digest',
        (c) => c.pod('gateway').containers[1]?.image,
        `kiwigrid/k8s-sidecar@${DIGESTS.server}`,
      ],
    ],
  },
  {
    name: 'policy sources in place of policies',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      policies: {
        sources: [
          {
            name: 'books',
            configMap: 'team-books',
            owner: 'team-books',
            permissions: { pathPrefixes: ['/api/books'], upstreams: ['books'], scopes: ['books:*'] },
          },
        ],
      },
      upstreams: { books: { url: 'http://books' } },
    },
    checks: [
      [
        'policies.sources',
        (c) => [c.volume('gateway', 'source-0'), c.mount('gateway', 'source-0')],
        [{ configMap: { name: 'team-books', optional: true } }, ['/etc/scopegate/policies/books', true]],
      ],
      [
        'policies.sources',
        ({ config }) => {
          const { policies, policySources, dataDir } = config('gateway')
          return [policies, policySources, dataDir]
        },
        [
          undefined,
          [
            {
              folder: '/etc/scopegate/policies/books',
              name: 'books',
              owner: 'team-books',
              permissions: { pathPrefixes: ['/api/books'], scopes: ['books:*'], upstreams: ['books'] },
            },
          ],
          '/tmp/scopegate',
        ],
      ],
    ],
  },
  {
    name: 'another issuer, and policies from ConfigMaps alone',
    release: 'my-scopegate',
    values: {
      global: { gitops: true },
      gateway: { baseUrl: 'https://api.example.org', issuers: [JWT_ISSUER] },
      authorizationServer: { enabled: false, issuer: 'https://login.example.org' },
      ingress: { enabled: true },
      networkPolicy: { enabled: true },
      policies: { configMaps: ['team-a'] },
      upstreams: { books: { url: 'http://books' } },
      serviceAccount: { create: false },
      lifecycle: null,
      resources: { limits: { memory: null } },
    },
    checks: [
      [
        'authorizationServer.enabled',
        (c) => c.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted(),
        [
          'ConfigMap my-scopegate-config',
          'ConfigMap my-scopegate-policies',
          'Deployment my-scopegate',
          'Ingress my-scopegate',
          'NetworkPolicy my-scopegate',
          'Pod my-scopegate-test',
          'Service my-scopegate',
        ],
      ],
      ['gateway.issuers', (c) => c.config('gateway')['issuers'], [JWT_ISSUER]],
      ['authorizationServer.enabled', (c) => c.config('gateway')['authorizationServer'], undefined],
      ['upstreams', (c) => c.config('gateway', 'upstreams.yaml'), { books: { url: 'http://books' } }],
      [
        'gateway.issuers',
        (c) => [c.volume('gateway', 'secrets'), c.mount('gateway', 'secrets')],
        [undefined, undefined],
      ],
      [
        'authorizationServer.issuer',
        (c) => c.object('Ingress', 'gateway').spec?.rules,
        [{ host: 'api.example.org', http: onIngress(['/'], 'Prefix', 'my-scopegate') }],
      ],
      ['policies.inline', (c) => c.object('ConfigMap', 'gateway', '-policies').data, {}],
      ['serviceAccount.name', (c) => c.pod('gateway').serviceAccountName, 'default'],
      ['lifecycle', (c) => c.container('gateway').lifecycle, undefined],
      ['resources', (c) => c.env('gateway', 'NODE_OPTIONS'), undefined],
      [
        'authorizationServer.enabled',
        testArgs,
        [
          '200 http://my-scopegate:8080/.well-known/oauth-protected-resource',
          '200 http://my-scopegate:9090/readyz',
        ],
      ],
    ],
  },
  {
    name: 'an own list of protected resources, and values of disabled objects',
    values: {
      tests: { enabled: false },
      ingress: { tls: [{ secretName: 'unused' }] },
      podDisruptionBudget: { minAvailable: 1 },
      gateway: { config: { resources: [{ path: '/mcp' }] } },
      authorizationServer: { config: { protectedResources: ['/more', '/mcp'] } },
    },
    checks: [
      [
        'authorizationServer.config',
        (c) => c.config('authorization-server')['protectedResources'],
        ['/more', '/mcp'],
      ],
      ['tests.enabled', testArgs, undefined],
    ],
  },
  {
    name: 'the canary of the bundled authorization server',
    values: {
      image: { registry: 'own.example.org', tag: '7' },
      extraArgs: ['--of=services'],
      podLabels: { global: '0' },
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ podSelector: { of: 'metrics' } }],
        gateway: { from: [{ podSelector: { of: 'ingress' } }] },
      },
      canary: {
        ...{ enabled: true, path: '/probe', status: 403, scopes: ['a:read', 'b:read'], clientId: 'bird' },
        ...{ intervalSeconds: 7, deadlineSeconds: 8, existingSecretKey: 'unused' },
        resources: { limits: { memory: '100Mi' } },
      },
    },
    checks: [
      [
        'canary.enabled, canary.path, canary.status, canary.scopes, canary.intervalSeconds, canary.deadlineSeconds, canary.clientId',
        (c) => [c.container('canary').command, c.container('canary').args],
        [
          ['node', 'bin/scopegate.js'],
          [
            ...['canary', '--issuer', 'http://127.0.0.1:8080', '--client-id', 'bird'],
            ...['--secret-file', '/etc/scopegate/secrets/canary-client-secret', '--scope', 'a:read b:read'],
            ...['--gateway-service', 'http://gw-scopegate-gateways:8080', '--path', '/probe'],
            ...['--status', '403', '--deadline', '8', '--interval', '7', '--management-host', '0.0.0.0'],
            ...['--issuer-address', 'http://gw-scopegate-authorization-server:8081'],
          ],
        ],
      ],
      [
        'canary.resources',
        (c) => {
          const { env, image, ports, resources, volumeMounts } = c.container('canary')
          return [env, image, ports, resources, volumeMounts]
        },
        [
          [
            { name: 'SCOPEGATE_CONFIG_DIR', value: '/etc/scopegate/config' },
            { name: 'NODE_OPTIONS', value: '--max-old-space-size=75' },
          ],
          'own.example.org/scopegate:7',
          [{ name: 'management', containerPort: 9092, protocol: 'TCP' }],
          { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '100Mi' } },
          [{ name: 'secrets', mountPath: '/etc/scopegate/secrets', readOnly: true }],
        ],
      ],
      [
        'canary.enabled',
        (c) => {
          const { metadata, spec } = c.object('Deployment', 'canary')
          return [metadata.name, spec?.replicas, spec?.strategy, podMeta(c, 'canary')?.labels?.['global']]
        },
        ['gw-scopegate-canary', 1, { type: 'Recreate' }, '0'],
      ],
      [
        'canary.existingSecret, canary.caSecret',
        (c) => [c.pod('canary').volumes, projected(c, 'authorization-server')?.at(-1)],
        [
          [
            {
              name: 'secrets',
              projected: {
                defaultMode: 0o440,
                sources: [
                  {
                    secret: {
                      name: 'gw-scopegate-canary-client',
                      items: [{ key: 'client-secret', path: 'canary-client-secret' }],
                    },
                  },
                ],
              },
            },
          ],
          ['gw-scopegate-canary-client', { key: 'client-secret', path: 'canary-client-secret' }],
        ],
      ],
      [
        'canary.existingSecret',
        (c) => {
          const { data = {}, metadata, type } = c.object('Secret', 'canary')
          const isLong = /^[A-Za-z0-9]{48}$/.test(decode(data['client-secret']))
          return [metadata.name, type, metadata.annotations, isLong]
        },
        ['gw-scopegate-canary-client', 'Opaque', { 'helm.sh/resource-policy': 'keep' }, true],
      ],
      [
        'canary.clientId, canary.scopes',
        (c) => c.config('authorization-server')['canary'],
        {
          clientId: 'bird',
          clientSecretFile: '/etc/scopegate/secrets/canary-client-secret',
          scopes: ['a:read', 'b:read'],
        },
      ],
      [
        'canary.enabled',
        (c) => [
          c.object('Service', 'gateway', '-gateways').spec,
          c.object('Service', 'canary').spec,
          ['Service', 'Secret', 'NetworkPolicy'].map((kind) => c.object(kind, 'canary').apiVersion),
        ],
        [
          {
            clusterIP: 'None',
            selector: selector('gateway', 'scopegate'),
            ports: [{ ...HTTP, port: 8080 }],
          },
          {
            selector: selector('canary', 'scopegate'),
            ports: [{ ...MANAGEMENT, port: 9092 }],
          },
          ['v1', 'v1', 'networking.k8s.io/v1'],
        ],
      ],
      ['canary.enabled', (c) => c.object('Service', 'canary').metadata.name, 'gw-scopegate-canary'],
      [
        'networkPolicy.enabled, networkPolicy.metricsFrom',
        (c) => c.object('NetworkPolicy', 'canary').spec,
        {
          podSelector: { matchLabels: selector('canary', 'scopegate') },
          policyTypes: ['Ingress', 'Egress'],
          ingress: [{ ports: tcp('management'), from: [{ podSelector: { of: 'metrics' } }] }],
          egress: [
            DNS,
            { ports: tcp(8080), to: [{ podSelector: { matchLabels: selector('gateway', 'scopegate') } }] },
            {
              ports: tcp(8081),
              to: [{ podSelector: { matchLabels: selector('authorization-server', 'scopegate') } }],
            },
          ],
        },
      ],
      [
        'networkPolicy.enabled',
        (c) => c.object('NetworkPolicy', 'canary').metadata.name,
        'gw-scopegate-canary',
      ],
      [
        'networkPolicy.gateway',
        both((c, one) => c.object('NetworkPolicy', one).spec?.ingress?.[0]?.from),
        [
          [
            { podSelector: { of: 'ingress' } },
            { podSelector: { matchLabels: selector('canary', 'scopegate') } },
            TEST_PEER,
          ],
          [
            { podSelector: { matchLabels: selector('gateway', 'scopegate') } },
            { podSelector: { matchLabels: selector('canary', 'scopegate') } },
          ],
        ],
      ],
    ],
  },
  {
    name: 'the canary with another issuer, and gateways with TLS',
    values: {
      gateway: { baseUrl: 'https://api.example.org', tls: { existingSecret: 'api-tls' } },
      networkPolicy: { enabled: true },
      canary: {
        ...{ enabled: true, path: '/probe', scopes: ['canary'], issuer: 'https://login.example.org' },
        ...{ existingSecret: 'login', existingSecretKey: 'bird', caSecret: 'ca', caSecretKey: 'ca.pem' },
      },
    },
    checks: [
      [
        'canary.issuer, canary.status, canary.resources',
        (c) => c.container('canary').args,
        [
          ...['canary', '--issuer', 'https://login.example.org', '--client-id', 'canary'],
          ...['--secret-file', '/etc/scopegate/secrets/canary-client-secret', '--scope', 'canary'],
          ...['--gateway-service', 'https://gw-scopegate-gateways:8080', '--path', '/probe'],
          ...['--status', '200', '--deadline', '30', '--interval', '60', '--management-host', '0.0.0.0'],
          ...['--server-name', 'api.example.org'],
        ],
      ],
      [
        'canary.existingSecret, canary.existingSecretKey, canary.caSecret, canary.caSecretKey',
        (c) => [projected(c, 'canary'), c.env('canary', 'NODE_EXTRA_CA_CERTS')],
        [
          [
            ['login', { key: 'bird', path: 'canary-client-secret' }],
            ['ca', { key: 'ca.pem', path: 'ca.pem' }],
          ],
          '/etc/scopegate/secrets/ca.pem',
        ],
      ],
      [
        'canary.issuer',
        (c) => [
          c.find('Secret', 'canary'),
          c.config('authorization-server')['canary'],
          projected(c, 'authorization-server')?.length,
        ],
        [undefined, undefined, 2],
      ],
      [
        'canary.issuer',
        (c) => c.object('Service', 'gateway', '-gateways').spec?.ports?.[0]?.appProtocol,
        'https',
      ],
      [
        'networkPolicy.enabled',
        (c) => [
          c.object('NetworkPolicy', 'canary').spec?.egress?.at(-1),
          c.object('NetworkPolicy', 'canary').spec?.ingress,
          ...BOTH.map((one) => c.object('NetworkPolicy', one).spec?.ingress?.[0]?.from),
        ],
        [
          { ports: tcp(443) },
          [{ ports: tcp('management') }],
          undefined,
          [{ podSelector: { matchLabels: selector('gateway', 'scopegate') } }],
        ],
      ],
    ],
  },
  {
    name: 'the canary with an issuer at a port',
    values: {
      networkPolicy: { enabled: true },
      canary: {
        ...{ enabled: true, path: '/probe', scopes: ['canary'], issuer: 'http://login:8443/realms/main' },
        existingSecret: 'login',
      },
    },
    checks: [
      [
        'canary.issuer',
        (c) => c.object('NetworkPolicy', 'canary').spec?.egress?.at(-1),
        { ports: tcp(8443) },
      ],
    ],
  },
  {
    name: 'the canary with an issuer without TLS',
    values: {
      networkPolicy: { enabled: true },
      canary: {
        ...{ enabled: true, path: '/probe', scopes: ['canary'], issuer: 'http://login' },
        existingSecret: 'login',
      },
    },
    checks: [
      ['canary.issuer', (c) => c.object('NetworkPolicy', 'canary').spec?.egress?.at(-1), { ports: tcp(80) }],
    ],
  },
  {
    name: 'the canary without network policies',
    values: { canary: { enabled: true, path: '/probe', scopes: ['a:read'] } },
    checks: [['networkPolicy.enabled', (c) => c.find('NetworkPolicy', 'canary'), undefined]],
  },
  {
    name: 'an own ConfigMap of the gateway',
    values: { gateway: { existingConfigMap: 'own', config: { resources: [{ path: '/mcp' }] } } },
    checks: [
      ['gateway.existingConfigMap', (c) => c.config('authorization-server')['protectedResources'], undefined],
    ],
  },
]

/** Returns one line for each failed check of a scenario. */
export function findLostValues(scenario: Scenario, objects: readonly KubeObject[]): readonly string[] {
  const chart = viewChart(objects)
  return scenario.checks.flatMap(([value, read, expected]) => {
    const found = readOrExplain(() => read(chart))
    return isDeepStrictEqual(found, expected)
      ? []
      : [`${scenario.name}: ${value}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`]
  })
}

function readOrExplain(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`
  }
}
