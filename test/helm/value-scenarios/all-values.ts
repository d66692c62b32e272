import type { ChartView } from '../chart-view.ts'
import {
  CONTAINER_SECURITY,
  DIGESTS,
  MANAGEMENT,
  names,
  POLICY,
  SECCOMP,
  selector,
  twice,
  WITH_CONTAINER_SECURITY,
} from './common-values.ts'
import { BOTH, both, decode, podMeta, projected, rules, testSpec } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

const PROVIDER = {
  ...{ name: 'company', title: 'Example account' },
  ...{ issuer: 'https://login.example.org', clientId: 'scopegate' },
}
const SCOPES = [{ name: 'books:read', description: 'See the books', group: 'Books', sensitivity: 'read' }]
const PRESETS = { ours: { anonymous: 'challenge' } }
const SHARED_LIMITS = { api: { requests: 1000, per: '1m', key: 'subject' } }
const TOLERATIONS = [{ key: 'edge', operator: 'Exists', effect: 'NoSchedule' }]
const AFFINITY = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }
const SPREAD = [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }]
const POD_SECURITY = { runAsUser: 7, runAsGroup: 8, fsGroup: 8 }
const probe = (periodSeconds: number) => ({
  httpGet: { path: '/livez', port: 'management' },
  ...{ periodSeconds, timeoutSeconds: 2, failureThreshold: 3 },
})
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

export const ALL_VALUES: readonly Scenario[] = [
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
]
