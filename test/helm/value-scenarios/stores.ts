import { twice } from './common-values.ts'
import { both, projected, rules } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

export const STORES: readonly Scenario[] = [
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
]
