import { DNS, HTTP, MANAGEMENT, selector, TEST_PEER, tcp } from './common-values.ts'
import { BOTH, both, decode, podMeta, projected } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

export const CANARY: readonly Scenario[] = [
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
]
