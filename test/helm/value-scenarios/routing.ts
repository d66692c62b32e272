import { HTTP, MANAGEMENT, onIngress, PARENT, SERVER_PATHS, selector, tcp } from './common-values.ts'
import { BOTH, both, projected } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

/** Fields of a Service that both services have. */
const SERVICE = {
  type: 'LoadBalancer',
  ...{ ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'], trafficDistribution: 'PreferClose' },
  ...{ internalTrafficPolicy: 'Local', clusterIP: '10.0.0.7', externalIPs: ['203.0.113.8'] },
  ...{ sessionAffinity: 'ClientIP', externalTrafficPolicy: 'Local', loadBalancerClass: 'example.org/a' },
  ...{ loadBalancerIP: '203.0.113.7', loadBalancerSourceRanges: ['203.0.113.0/24'] },
}

export const ROUTING: readonly Scenario[] = [
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
]
