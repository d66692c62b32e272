import type { Component } from '../chart-view.ts'
import { DNS, POLICY, selector, TEST_PEER, tcp } from './common-values.ts'
import { both } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

export const NETWORK_POLICIES: readonly Scenario[] = [
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
]
