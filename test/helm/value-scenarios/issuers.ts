import { onIngress, PARENT, SERVER_PATHS, tcp } from './common-values.ts'
import { testArgs, testSpec } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

const JWT_ISSUER = {
  issuer: 'https://login.example.org',
  jwt: { keys: { uri: 'https://login.example.org/keys' } },
}

export const ISSUERS: readonly Scenario[] = [
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
    name: 'an own ConfigMap of the gateway',
    values: { gateway: { existingConfigMap: 'own', config: { resources: [{ path: '/mcp' }] } } },
    checks: [
      ['gateway.existingConfigMap', (c) => c.config('authorization-server')['protectedResources'], undefined],
    ],
  },
]
