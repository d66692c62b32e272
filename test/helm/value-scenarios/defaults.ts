import { createHash } from 'node:crypto'
import type { ChartView, Component } from '../chart-view.ts'
import { names, selector, twice, VERSION } from './common-values.ts'
import { BOTH, both, decode, podMeta, projected, rules, testArgs } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

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

export const DEFAULTS: readonly Scenario[] = [
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
]
