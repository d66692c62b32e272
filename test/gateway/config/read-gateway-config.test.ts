import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { readGatewayConfig } from '../../../gateway/config/read-gateway-config.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'

const SHIPPED = resolve(import.meta.dirname, '../../../config')

function aConfigDir(t: Pick<Test, 'testdir'>, change: { readonly [file: string]: string } = {}): string {
  const dir = t.testdir({ secret: 'the secret\n' })
  for (const file of ['gateway.yaml', 'upstreams.yaml', 'scopes.yaml', 'presets.yaml'])
    cpSync(join(SHIPPED, file), join(dir, file))
  for (const [file, text] of Object.entries(change)) writeFileSync(join(dir, file), text)
  return dir
}

function withSecret(dir: string, env: Record<string, string> = {}) {
  return {
    configDir: dir,
    env: { SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: join(dir, 'secret'), ...env },
  }
}

t.test('readGatewayConfig() reports a missing secret together with every other invalid file', async (t) => {
  const dir = aConfigDir(t, { 'upstreams.yaml': 'api: { url: not-an-address, tiemout: 5s }\n' })
  t.throws(() => readGatewayConfig({ configDir: dir, env: {} }), {
    code: 'ERR_CONFIG_INVALID',
    exitCode: 3,
    message: /C302[\s\S]*gateway-client-secret|gateway-client-secret[\s\S]*C302/,
  })
  t.throws(() => readGatewayConfig(withSecret(dir)), { message: /upstreams\.yaml[\s\S]*tiemout/ })
})

t.test('readGatewayConfig() rejects an empty secret', async (t) => {
  const dir = aConfigDir(t, { secret: ' \n' })
  t.throws(() => readGatewayConfig(withSecret(dir)), { message: /C302[\s\S]*empty/ })
})

t.test('readGatewayConfig() rejects an authorization server that is not an upstream', async (t) => {
  const dir = aConfigDir(t, { 'upstreams.yaml': 'learning-platform: { url: http://127.0.0.1:8082 }\n' })
  t.throws(() => readGatewayConfig(withSecret(dir)), { message: /C303[\s\S]*authorization-server/ })
})

t.test('readGatewayConfig() rejects unknown keys', async (t) => {
  const dir = aConfigDir(t, { 'gateway.yaml': 'baseurl: http://a\n' })
  t.throws(() => readGatewayConfig(withSecret(dir)), { message: /gateway\.yaml:1:1[\s\S]*baseurl/ })
})

t.test(
  'readGatewayConfig() converts the durations and sizes of the shipped configuration to numbers',
  async (t) => {
    const { config } = readGatewayConfig(withSecret(aConfigDir(t)))
    t.match(config, {
      baseUrl: 'http://127.0.0.1:8080',
      issuers: [{ jwt: undefined, introspection: { clientSecret: 'the secret', timeoutMs: 2_000 } }],
      tokenCache: { maxEntries: 100_000, maxTtlMs: 30_000, ttlWithoutPushMs: 5_000, negativeTtlMs: 5_000 },
      limits: { bodyBytes: 10_485_760, headersBytes: 16_384, targetBytes: 8_192, tokenBytes: 8_192 },
      log: { level: 'info', auditFile: undefined, format: 'default', subject: 'hashed' },
    })
    t.equal(config.catalogue.size, 38)
  },
)

t.test('readGatewayConfig() overrides values with environment variables, also in upstreams', async (t) => {
  const { config } = readGatewayConfig(
    withSecret(aConfigDir(t), {
      PORT: '0',
      SCOPEGATE_BASE_URL: 'https://api.test',
      SCOPEGATE_TOKEN_CACHE__MAX_TTL: '1m',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: 'http://platform:1',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__MAX_CONNECTIONS: '7',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__MAX_PENDING_REQUESTS: '3',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__QUEUE_TIMEOUT: '2s',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__HEALTH_CHECK__PATH: '/healthz',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__HEALTH_CHECK__UNHEALTHY_AFTER: '4',
    }),
  )
  t.match(config, { listen: { port: 0 }, baseUrl: 'https://api.test', tokenCache: { maxTtlMs: 60_000 } })
  const upstream = config.upstreams.find((one) => one.name === 'learning-platform')
  t.same(upstream?.urls, ['http://platform:1'])
  t.same(upstream?.connections, { max: 7, maxPending: 3, queueTimeoutMs: 2_000 })
  t.match(upstream?.healthCheck, { path: '/healthz', unhealthyAfter: 4 })
})

t.test(
  'readGatewayConfig() locates an invalid proxy address in the file and in the environment',
  async (t) => {
    const shipped = readFileSync(join(SHIPPED, 'gateway.yaml'), 'utf8')
    const dir = aConfigDir(t, {
      'gateway.yaml': shipped.replace(
        'trustedProxies: []',
        'trustedProxies: [10.0.0.0/8, everybody, 0.0.0.0/0]',
      ),
    })
    t.throws(() => readGatewayConfig(withSecret(dir)), {
      message:
        /C105[\s\S]*"everybody" is not an IP address or CIDR block[\s\S]*gateway\.yaml:\d+:30[\s\S]*"0\.0\.0\.0\/0" is not/,
    })
    t.throws(() => readGatewayConfig(withSecret(aConfigDir(t), { SCOPEGATE_TRUSTED_PROXIES: 'localhost' })), {
      message: /SCOPEGATE_TRUSTED_PROXIES/,
    })
  },
)

t.test('readGatewayConfig() reads the header names of decisions from the environment', async (t) => {
  const decisions = {
    SCOPEGATE_TRUSTED_PROXIES: '127.0.0.1',
    SCOPEGATE_DECISIONS__LISTEN__HOST: '127.0.0.1',
    SCOPEGATE_DECISIONS__LISTEN__PORT: '0',
    SCOPEGATE_DECISIONS__PROTOCOL: 'auth-request',
  }
  const { config } = readGatewayConfig(
    withSecret(aConfigDir(t), {
      ...decisions,
      SCOPEGATE_DECISIONS__HEADERS__METHOD: 'X-Method',
      SCOPEGATE_DECISIONS__HEADERS__TARGET: 'x-target',
      SCOPEGATE_DECISIONS__HEADERS__CLIENT_ADDRESS: 'X-Real-IP',
    }),
  )
  t.same(config.decisions?.headers, { method: 'x-method', target: 'x-target', clientAddress: 'x-real-ip' })
  for (const name of [
    'Authorization',
    'Host',
    'x-',
    'x-a b',
    'x_method',
    'x-auth-subject',
    'X-Forwarded-For',
  ])
    t.throws(
      () =>
        readGatewayConfig(
          withSecret(aConfigDir(t), { ...decisions, SCOPEGATE_DECISIONS__HEADERS__METHOD: name }),
        ),
      { message: /SCOPEGATE_DECISIONS__HEADERS__METHOD/ },
      name,
    )
})

t.test('readGatewayConfig() trusts no proxy by default', async (t) => {
  t.match(readGatewayConfig(withSecret(aConfigDir(t))).config, {
    trustedProxies: [],
    forwardedHeader: 'x-forwarded-for',
  })
  const { config } = readGatewayConfig(
    withSecret(aConfigDir(t), {
      SCOPEGATE_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8',
      SCOPEGATE_FORWARDED_HEADER: 'forwarded',
    }),
  )
  t.match(config, { trustedProxies: ['10.0.0.0/8', 'fd00::/8'], forwardedHeader: 'forwarded' })
})

t.test(
  'readGatewayConfig() accepts host names for the management port and rejects other values',
  async (t) => {
    const { config } = readGatewayConfig(
      withSecret(aConfigDir(t), { SCOPEGATE_MANAGEMENT__NAMES: 'gw-scopegate, gw-scopegate.gateways.svc' }),
    )
    t.same(config.management.names, ['gw-scopegate', 'gw-scopegate.gateways.svc'])
    for (const name of ['gw:9090', '*', '*.svc', 'http://gw', '.', 'gw.'])
      t.throws(
        () => readGatewayConfig(withSecret(aConfigDir(t), { SCOPEGATE_MANAGEMENT__NAMES: name })),
        { message: /C105[\s\S]*SCOPEGATE_MANAGEMENT__NAMES/ },
        name,
      )
  },
)

t.test('readGatewayConfig() requires a certificate that clients accept, and an https URL', async (t) => {
  const dir = aConfigDir(t)
  const write = ({ cert, key }: { readonly cert: string; readonly key: string }): void => {
    writeFileSync(join(dir, 'tls.crt'), cert)
    writeFileSync(join(dir, 'tls.key'), key)
  }
  const env = {
    SCOPEGATE_BASE_URL: 'https://api.test',
    SCOPEGATE_TLS__CERT_FILE: join(dir, 'tls.crt'),
    SCOPEGATE_TLS__KEY_FILE: join(dir, 'tls.key'),
  }
  const good = aCertificate()
  t.throws(() => readGatewayConfig(withSecret(dir, env)), { message: /C320.*does not exist[\s\S]*tls\.crt/ })
  write({ ...good, key: aCertificate().key })
  t.throws(() => readGatewayConfig(withSecret(dir, env)), {
    message: /C320.*does not match the certificate[\s\S]*tls\.key/,
  })
  write(aCertificate({ untilMs: Date.now() - 1_000 }))
  t.throws(() => readGatewayConfig(withSecret(dir, env)), {
    message: /C320.*expired at[\s\S]*renew the certificate/,
  })
  write(good)
  t.throws(() => readGatewayConfig(withSecret(dir, { ...env, SCOPEGATE_BASE_URL: 'http://api.test' })), {
    message: /C321.*http:\/\/api\.test[\s\S]*https address/,
  })
  t.throws(() => readGatewayConfig(withSecret(dir, { ...env, SCOPEGATE_TLS__MIN_VERSION: 'TLSv1.1' })), {
    message: /SCOPEGATE_TLS__MIN_VERSION/,
  })
  t.match(readGatewayConfig(withSecret(dir, env)).config.tls, {
    certFile: env.SCOPEGATE_TLS__CERT_FILE,
    minVersion: 'TLSv1.2',
    http2: false,
  })
  t.throws(() => readGatewayConfig(withSecret(dir, { ...env, SCOPEGATE_TLS__HTTP2: 'h2' })), {
    message: /C104.*SCOPEGATE_TLS__HTTP2: tls\.http2 must be true or false/,
  })
  t.equal(
    readGatewayConfig(withSecret(dir, { ...env, SCOPEGATE_TLS__HTTP2: 'true' })).config.tls?.http2,
    true,
  )
  t.equal(readGatewayConfig(withSecret(dir)).config.tls, undefined)
})

t.test(
  'readGatewayConfig() reads the CA certificates of an upstream and rejects a file without certificates',
  async (t) => {
    const upstreams = (url: string): string =>
      `learning-platform: { url: ${url}, caFile: ./ca.pem }\nauthorization-server: { url: http://127.0.0.1:1 }\n`
    const read = (url: string, ca?: string) => {
      const dir = aConfigDir(t, {
        'upstreams.yaml': upstreams(url),
        ...(ca === undefined ? {} : { 'ca.pem': ca }),
      })
      return readGatewayConfig(withSecret(dir)).config.upstreams[0]?.ca
    }
    const { cert, key } = aCertificate({ authority: true })
    t.throws(() => read('https://platform'), { message: /C322.*does not exist[\s\S]*ca\.pem/ })
    t.throws(() => read('https://platform', key), { message: /C322.*does not contain a PEM certificate/ })
    t.throws(() => read('https://platform', `${cert}${cert.replace(/\n.{20}/, '\n')}`), {
      message: /C322.*certificate 2 in the file/,
    })
    t.throws(() => read('http://platform', cert), { message: /C323.*learning-platform\.caFile/ })
    t.equal(read('https://platform', `ours:\n${cert}`), cert.trim())
  },
)

t.test('readGatewayConfig() reads weights, without the addresses whose weight is 0', async (t) => {
  const read = (weights: string) => {
    const dir = aConfigDir(t, {
      'upstreams.yaml': `learning-platform: { urls: [http://127.0.0.1:1, http://127.0.0.1:2, http://127.0.0.1:3], weights: ${weights} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
    })
    return readGatewayConfig(withSecret(dir)).config.upstreams[0]
  }
  t.match(read('[5, 0, 7]'), { urls: ['http://127.0.0.1:1', 'http://127.0.0.1:3'], weights: [5, 7] })
  t.throws(() => read('[1, 2]'), { message: /C318.*\(2\).*\(3\)/ })
  t.throws(() => read('[0, 0, 0]'), { message: /C318.*all weights are 0/ })
})

t.test('readGatewayConfig() reads the health check of an upstream', async (t) => {
  const read = (healthCheck: string) => {
    const dir = aConfigDir(t, {
      'upstreams.yaml': `learning-platform: { url: http://127.0.0.1:1, healthCheck: ${healthCheck} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
    })
    return readGatewayConfig(withSecret(dir)).config.upstreams
  }
  const [checked, unchecked] = read('{ path: /healthz }')
  t.same(checked?.healthCheck, {
    path: '/healthz',
    intervalMs: 5_000,
    timeoutMs: 2_000,
    unhealthyAfter: 3,
    healthyAfter: 2,
    statuses: undefined,
  })
  t.equal(unchecked?.healthCheck, undefined)
  const all =
    '{ path: /h, interval: 1m, timeout: 50ms, unhealthyAfter: 4, healthyAfter: 5, statuses: [200, 204] }'
  t.same(read(all)[0]?.healthCheck, {
    path: '/h',
    intervalMs: 60_000,
    timeoutMs: 50,
    unhealthyAfter: 4,
    healthyAfter: 5,
    statuses: [200, 204],
  })
  t.throws(() => read('{ path: /h, interval: 500ms }'), { message: /C105.*500ms.*from 1s/ })
  t.throws(() => read('{ path: healthz }'), { message: /C105.*healthz.*a path such as/ })
  t.throws(() => read('{ path: //other.test/a }'), { message: /C105.*other\.test.*one slash at the start/ })
  t.equal(read('{ path: /a//b }')[0]?.healthCheck?.path, '/a//b')
  t.equal(read('{ path: / }')[0]?.healthCheck?.path, '/')
  t.throws(() => read('{ path: /h, statuses: [101] }'), { message: /healthCheck\.statuses.*200/ })
  t.throws(() => read('{ interval: 5s }'), { message: /C103.*path.*healthCheck/ })
})

t.test('readGatewayConfig() rejects a queue setting without effect', async (t) => {
  const read = (keys: string) => {
    const dir = aConfigDir(t, {
      'upstreams.yaml': `learning-platform: { url: http://127.0.0.1:1, ${keys} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
    })
    return readGatewayConfig(withSecret(dir)).config.upstreams[0]?.connections
  }
  t.throws(() => read('maxPendingRequests: 1'), { message: /C317.*maxPendingRequests/ })
  t.throws(() => read('maxConnections: 1, queueTimeout: 1s'), { message: /C317.*queueTimeout/ })
  t.same(read('maxConnections: 3, maxPendingRequests: 4, queueTimeout: 5s'), {
    max: 3,
    maxPending: 4,
    queueTimeoutMs: 5_000,
  })
  t.same(read('timeout: 1s'), { max: Number.POSITIVE_INFINITY, maxPending: 0, queueTimeoutMs: 1_000 })
})

t.test('readGatewayConfig() reads the credentials of an upstream and rejects unusable files', async (t) => {
  const read = (credentials: string, content?: string) => {
    const dir = aConfigDir(t, {
      'upstreams.yaml': `learning-platform: { url: http://127.0.0.1:1, credentials: ${credentials} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
      ...(content === undefined ? {} : { key: content }),
    })
    return readGatewayConfig(withSecret(dir)).config.upstreams[0]?.credentials
  }
  const header = '{ header: { name: X-Api-Key, valueFile: ./key } }'
  const basic = '{ basic: { username: gateway, passwordFile: ./key } }'
  t.match(read(header, 'Bearer a b\n'), { kind: 'header', name: 'X-Api-Key', secret: 'Bearer a b' })
  t.match(read(header, 'abc\r\n'), { secret: 'abc' })
  t.match(read(basic, ' päss:word \n'), { kind: 'basic', username: 'gateway', secret: ' päss:word ' })
  t.match(read(basic, 'x'), { setting: 'upstreams.learning-platform.credentials.basic.passwordFile' })
  for (const [kind, content, message] of [
    [header, undefined, /C315.*does not exist[\s\S]*learning-platform\.credentials\.header\.valueFile/],
    [header, '', /C315.*empty/],
    [header, '\n', /C315.*the file is empty/],
    [header, 'a\n\n', /C315.*more than one line/],
    [header, 'a\r\nx-auth-subject: root', /C315.*more than one line/],
    [header, 'a\u0000b', /C315/],
    [header, ' a', /C315.*white space/],
    [header, 'a ', /C315.*white space/],
    [header, 'päss', /C315.*printable ASCII/],
    [header, 'a'.repeat(4_097), /C315.*longer than 4096/],
    [basic, 'a\tb', /C315.*control character/],
    [basic, 'a\rb', /C315.*more than one line/],
  ] as const)
    t.throws(() => read(kind, content), { message }, JSON.stringify(content)?.slice(0, 40) ?? 'no file')
  for (const [credentials, message] of [
    ['{}', /C312.*learning-platform\.credentials/],
    [header.replace(' } }', ' }, basic: { username: a, passwordFile: ./key } }'), /C312/],
    ['{ header: { name: X-Api-Key } }', /C103.*valueFile/],
    ['{ basic: { username: "a:b", passwordFile: ./key } }', /C105.*user name/],
    ['{ header: { name: "X Key", valueFile: ./key } }', /C105.*header name/],
    ['{ header: { name: "X-Key\\r\\nX", valueFile: ./key } }', /C105/],
    ['{ bearer: {} }', /C101.*bearer/],
  ] as const)
    t.throws(() => read(credentials, 'key'), { message }, credentials)
  for (const name of [
    'Host',
    'Cookie',
    'Connection',
    'Content-Length',
    'Transfer-Encoding',
    'X-Auth-Subject',
    'X_Auth_Subject',
    'X-Forwarded-For',
    'X-Request-Id',
    'User-Agent',
    'DPoP',
    'Proxy-Authorization',
    'Sec-WebSocket-Key',
    'Content-Type',
    'Content_Type',
    'content-encoding',
    'Accept',
    'Accept-Encoding',
    'If-Match',
    'Range',
    'Origin',
    'TE',
    'Trailer',
    'Upgrade',
    'Keep-Alive',
    'Expect',
  ])
    t.throws(() => read(`{ header: { name: ${name}, valueFile: ./key } }`, 'key'), { message: /C313/ }, name)
})

t.test('readGatewayConfig() warns of credentials that it sends to another machine without TLS', async (t) => {
  const warningsOf = (
    address: string,
    credentials = ', credentials: { header: { name: X-Api-Key, valueFile: ./key } }',
  ) =>
    readGatewayConfig(
      withSecret(
        aConfigDir(t, {
          'upstreams.yaml': `learning-platform: { ${address}${credentials} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
          key: 'secret',
        }),
      ),
    ).warnings.map(({ code, severity, message }) => `${severity} ${code} ${message}`)
  const warning = (address: string) =>
    `warning C319 learning-platform.credentials: the gateway sends the credential without TLS to ${address}`
  t.same(warningsOf('url: http://api.test'), [warning('http://api.test')])
  t.same(warningsOf('urls: [https://a.test, http://10.0.0.1:80]'), [warning('http://10.0.0.1:80')])
  t.same(warningsOf('url: http://127.0.0.1.api.test'), [warning('http://127.0.0.1.api.test')])
  for (const address of ['http://127.0.0.1:1', 'http://localhost:1', '"http://[::1]:1"', 'https://api.test'])
    t.same(warningsOf(`url: ${address}`), [], address)
  t.same(warningsOf('url: http://api.test', ''), [])
})

t.test(
  'readGatewayConfig() reads client credentials for an upstream and rejects unusable values',
  async (t) => {
    const read = (more = '', tokenEndpoint = 'https://login.test/token', content = 'the client secret\n') => {
      const dir = aConfigDir(t, {
        'upstreams.yaml': `learning-platform:
  url: http://127.0.0.1:1
  credentials:
    clientCredentials: { tokenEndpoint: "${tokenEndpoint}", clientId: gateway, clientSecretFile: ./key${more} }
authorization-server: { url: http://127.0.0.1:1 }
`,
        key: content,
      })
      return readGatewayConfig(withSecret(dir)).config.upstreams[0]?.credentials
    }
    t.match(read(), {
      kind: 'client_credentials',
      tokenEndpoint: 'https://login.test/token',
      clientId: 'gateway',
      authMethod: 'client_secret_basic',
      scopes: [],
      resource: undefined,
      ca: undefined,
      secret: 'the client secret',
      setting: 'upstreams.learning-platform.credentials.clientCredentials.clientSecretFile',
    })
    t.match(read(', scopes: [a, b:c], resource: https://api.test/x, authMethod: client_secret_post'), {
      scopes: ['a', 'b:c'],
      resource: 'https://api.test/x',
      authMethod: 'client_secret_post',
    })
    for (const endpoint of ['http://127.0.0.1:9/token', 'http://[::1]:9/token', 'http://localhost/token'])
      t.match(read('', endpoint), { tokenEndpoint: endpoint })
    for (const [more, endpoint, content, message] of [
      ['', undefined, '', /C315.*the file is empty[\s\S]*clientCredentials\.clientSecretFile/],
      ['', undefined, 'a\nb', /C315.*more than one line/],
      [
        '',
        'http://login.test/token',
        undefined,
        /C316.*learning-platform\.credentials\.clientCredentials\.tokenEndpoint/,
      ],
      ['', 'http://127.0.0.1.login.test/token', undefined, /C316/],
      ['', 'https://user:password@login.test/token', undefined, /C105.*URL/],
      ['', 'https://login.test/token?tenant=a', undefined, /C105.*URL/],
      [', caFile: ./key', 'http://127.0.0.1:9/token', undefined, /C323.*clientCredentials\.caFile/],
      [
        ', caFile: ./key',
        undefined,
        undefined,
        /C322.*clientCredentials\.caFile|C322[\s\S]*clientCredentials\.caFile/,
      ],
      [', scopes: ["a b"]', undefined, undefined, /C105.*scope/],
      [', scopes: []', undefined, undefined, /C106/],
      [
        ', authMethod: private_key_jwt',
        undefined,
        undefined,
        /C102.*private_key_jwt|C102[\s\S]*client_secret_basic/,
      ],
      [', resource: api', undefined, undefined, /C105/],
      [', audience: "a b"', undefined, undefined, /C105.*without spaces/],
      [', privateKeyJwt: { keyFile: ./key, issuer: https://login.test }', undefined, undefined, /C325/],
    ] as const)
      t.throws(() => read(more, endpoint, content), { message }, `${more} ${endpoint ?? ''}`)
  },
)

t.test(
  'readGatewayConfig() reads a private key for a token endpoint, and rejects unusable keys',
  async (t) => {
    const read = (key: string, more = '', of = 'issuer: https://login.test') => {
      const dir = aConfigDir(t, {
        'upstreams.yaml': `learning-platform:
  url: http://127.0.0.1:1
  credentials:
    clientCredentials:
      tokenEndpoint: https://login.test/token
      clientId: gateway
      privateKeyJwt: { keyFile: ./key, ${of} }
${more}
authorization-server: { url: http://127.0.0.1:1 }
`,
        key,
      })
      return readGatewayConfig(withSecret(dir)).config.upstreams[0]?.credentials
    }
    const make = (kind: 'ec' | 'rsa', options: { namedCurve?: string; modulusLength?: number }) =>
      generateKeyPairSync(kind as 'ec', options as { namedCurve: string })
    const pem = (key: KeyObject) => String(key.export({ type: 'pkcs8', format: 'pem' }))
    const { privateKey, publicKey } = make('ec', { namedCurve: 'P-256' })
    t.match(
      read(
        pem(privateKey),
        '      audience: urn:billing',
        'issuer: https://login.test, keyId: a, algorithm: ES256',
      ),
      {
        authMethod: { issuer: 'https://login.test', keyId: 'a', algorithm: 'ES256' },
        audience: 'urn:billing',
        setting: 'upstreams.learning-platform.credentials.clientCredentials.privateKeyJwt.keyFile',
      },
    )
    const jwk = privateKey.export({ format: 'jwk' })
    t.match(read(JSON.stringify(jwk)), { kind: 'client_credentials' })
    t.match(read(JSON.stringify({ ...jwk, key_ops: ['sign'] })), { kind: 'client_credentials' })
    const other = make('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
    const [ed25519, otherEd25519] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')].map(
      ({ privateKey }) => privateKey.export({ format: 'jwk' }),
    )
    const [rsa, otherRsa] = [
      make('rsa', { modulusLength: 2_048 }),
      make('rsa', { modulusLength: 2_048 }),
    ].map(({ privateKey }) => privateKey.export({ format: 'jwk' }))
    const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a' } as const
    const MISMATCH =
      /C315.*private part of the key does not belong to its public part[\s\S]*privateKeyJwt\.keyFile: write the complete key/
    for (const [key, message] of [
      ['', /C315.*no unencrypted private key[\s\S]*privateKeyJwt\.keyFile/],
      ['a secret', /C315.*no unencrypted private key/],
      [String(publicKey.export({ type: 'spki', format: 'pem' })), /C315.*no unencrypted private key/],
      [String(privateKey.export(encrypted)), /C315.*no unencrypted private key/],
      [JSON.stringify({ ...jwk, d: undefined }), /C315.*no unencrypted private key/],
      [`{"d":"${jwk.d}",${JSON.stringify(jwk).slice(1)}`, /C315.*no unencrypted private key/],
      [JSON.stringify({ ...jwk, use: 'enc' }), /C315.*must be sig/],
      [JSON.stringify({ ...jwk, key_ops: ['verify'] }), /C315.*must contain sign/],
      [JSON.stringify({ ...jwk, key_ops: 'sign' }), /C315.*must contain sign/],
      [JSON.stringify({ ...jwk, x: other.x, y: other.y }), MISMATCH],
      [JSON.stringify({ ...ed25519, x: otherEd25519?.x }), MISMATCH],
      [JSON.stringify({ ...rsa, n: otherRsa?.n }), MISMATCH],
      [JSON.stringify({ ...jwk, alg: 'RS256' }), /C315.*does not fit its algorithm/],
      [pem(make('ec', { namedCurve: 'P-521' }).privateKey), /C315.*does not support this kind of key/],
      [pem(make('rsa', { modulusLength: 1_024 }).privateKey), /C315.*does not support this kind of key/],
    ] as const) {
      t.throws(() => read(key), { message })
      if (key.length > 0) t.throws(() => read(key), { message: new RegExp(`^(?![\\s\\S]*${jwk.d})`) })
    }
    t.throws(() => read(pem(privateKey), '', 'issuer: https://login.test, algorithm: PS256'), {
      message: /C315.*does not fit its algorithm/,
    })
    t.throws(() => read(pem(privateKey), '', 'issuer: https://login.test, algorithm: HS256'), {
      message: /C102/,
    })
    t.throws(() => read(pem(privateKey), '', 'keyId: a'), { message: /C103.*issuer|issuer.*required/ })
    t.throws(() => read(pem(privateKey), '      authMethod: client_secret_post'), { message: /C325/ })
  },
)

t.test('readGatewayConfig() rejects an unusable client certificate of an upstream', async (t) => {
  const read = (entry: string, files: { readonly [file: string]: string } = {}) => {
    const dir = aConfigDir(t, {
      'upstreams.yaml': `learning-platform: { ${entry} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
      ...files,
    })
    return readGatewayConfig(withSecret(dir)).config.upstreams[0]?.certificate
  }
  const entry = 'url: https://platform, certFile: ./c.pem, keyFile: ./k.pem'
  const { cert, key } = aCertificate()
  t.match(read(entry, { 'c.pem': cert, 'k.pem': key }), { certFile: /c\.pem$/, keyFile: /k\.pem$/ })
  t.equal(read('url: https://platform'), undefined)
  t.throws(() => read(entry, { 'k.pem': key }), {
    message: /C320.*does not exist[\s\S]*upstreams\.learning-platform\.certFile/,
  })
  t.throws(() => read(entry, { 'c.pem': cert, 'k.pem': aCertificate().key }), {
    message: /C320.*the key does not match the certificate[\s\S]*upstreams\.learning-platform\.keyFile/,
  })
  t.throws(() => read('url: https://platform, certFile: ./c.pem'), { message: /C324.*learning-platform/ })
  t.throws(() => read('url: https://platform, keyFile: ./k.pem'), { message: /C324.*learning-platform/ })
  t.throws(() => read(entry.replace('https', 'http'), { 'c.pem': cert, 'k.pem': key }), {
    message: /C323.*learning-platform\.certFile/,
  })
})

t.test(
  'readGatewayConfig() reads the CA certificates of an issuer and rejects unusable certificates',
  async (t) => {
    const read = (ca: string | undefined, env: Record<string, string>) => {
      const dir = aConfigDir(t, ca === undefined ? {} : { 'issuer-ca.pem': ca })
      const more = { SCOPEGATE_ISSUERS__0__CA_FILE: join(dir, 'issuer-ca.pem'), ...env }
      return readGatewayConfig(withSecret(dir, more)).config.issuers[0]?.ca
    }
    const https = {
      SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: 'https://issuer.test/introspect',
      SCOPEGATE_ISSUERS__0__REVOCATIONS: 'https://issuer.test/revocations',
    }
    const { cert, key } = aCertificate({ authority: true })
    t.throws(() => read(undefined, https), { message: /C322.*does not exist[\s\S]*issuers\[0\]\.caFile/ })
    t.throws(() => read(key, https), { message: /C322.*does not contain a PEM certificate/ })
    t.throws(() => read(cert, {}), {
      exitCode: 3,
      message: /C339.*issuers\[0\]\.caFile: http:\/\/\S+ does not use https/,
    })
    t.throws(() => read(cert, { ...https, SCOPEGATE_ISSUERS__0__REVOCATIONS: 'http://issuer.test/' }), {
      message: /C339.*http:\/\/issuer\.test\/ does not use https/,
    })
    t.equal(read(cert, https), cert.trim())
  },
)

t.test(
  'readGatewayConfig() rejects a drain delay that is not below the grace period, and suggests a correction',
  async (t) => {
    const dir = aConfigDir(t)
    for (const [delay, grace] of [
      ['20s', '20s'],
      ['30s', '20s'],
    ] as const)
      t.throws(
        () =>
          readGatewayConfig(
            withSecret(dir, { SCOPEGATE_DRAIN__DELAY: delay, SCOPEGATE_DRAIN__GRACE: grace }),
          ),
        { exitCode: 3, message: /C309[\s\S]*delay[\s\S]*set drain\.grace/ },
        `${delay} of ${grace}`,
      )
    const { config } = readGatewayConfig(withSecret(dir, { SCOPEGATE_DRAIN__DELAY: '19s' }))
    t.strictSame(config.drain, { delayMs: 19_000, graceMs: 20_000 })
  },
)

t.test('readGatewayConfig() reads overload thresholds and rejects a wrong order', async (t) => {
  const dir = aConfigDir(t)
  const { config } = readGatewayConfig(withSecret(dir, { SCOPEGATE_OVERLOAD__LOOP_DELAY__REFUSE: '2s' }))
  t.strictSame(config.overload, {
    heap: { close: 0.7, refuse: 0.8 },
    memory: { close: 0.85, refuse: 0.92 },
    loop: { close: 500, refuse: 2_000 },
  })
  t.throws(() => readGatewayConfig(withSecret(dir, { SCOPEGATE_OVERLOAD__HEAP__REFUSE: '60' })), {
    exitCode: 3,
    message: /C310[\s\S]*overload\.heap/,
  })
  t.throws(() => readGatewayConfig(withSecret(dir, { SCOPEGATE_OVERLOAD__MEMORY__CLOSE: '0' })), {
    message: /overload\.memory\.close|OVERLOAD__MEMORY__CLOSE/,
  })
})

t.test(
  'readGatewayConfig() rejects resources with invalid paths, duplicate paths or unknown issuers',
  async (t) => {
    const resources = (text: string) =>
      readFileSync(join(SHIPPED, 'gateway.yaml'), 'utf8').replace('resources: []', `resources: ${text}`)
    for (const [text, words] of [
      ['[{ path: mcp }]', /C105[\s\S]*a path such as \/mcp/],
      ['[{ path: /mcp/ }]', /C105[\s\S]*without a trailing slash/],
      ['[{ path: /a/../b }]', /C105/],
      ['[{ path: "/{x}" }]', /C105/],
      ['[{ path: "/mcp/**" }]', /C105/],
      ['[{ path: /a%62 }]', /C105/],
      ['[{ path: //a }]', /C105/],
      ['[{ path: "/a?b" }]', /C105/],
      ['[{ path: /mcp, audience: x }]', /audience/],
      ['[{ path: /mcp, issuers: [] }]', /C106/],
      [
        '[{ path: /mcp }, { path: /mcp }]',
        /C340[\s\S]*resources\[1\]\.path: \/mcp is already defined in resources\[0\]/,
      ],
      ['[{ path: /api/oauth }]', /C341[\s\S]*\/api\/oauth/],
      ['[{ path: /oauth/interaction/x }]', /C341/],
      ['[{ path: /openapi.json }]', /C341/],
      ['[{ path: /.well-known/oauth-protected-resource }]', /C341/],
      [
        '[{ path: /mcp, issuers: ["http://127.0.0.1:8080/"] }]',
        /C342[\s\S]*did you mean "http:\/\/127\.0\.0\.1:8080"\?/,
      ],
    ] as const)
      t.throws(
        () => readGatewayConfig(withSecret(aConfigDir(t, { 'gateway.yaml': resources(text) }))),
        { exitCode: 3, message: words },
        text,
      )
    for (const text of ['[]', '[{ path: / }]', '[{ path: /mcp, issuers: ["https://login.example.com"] }]'])
      t.throws(
        () =>
          readGatewayConfig(
            withSecret(
              aConfigDir(t, {
                'gateway.yaml': `${resources(text)}\ncompat: { resourcePathAliases: true }\n`,
              }),
            ),
          ),
        { exitCode: 3, message: /C345/ },
        text,
      )
    const good = '[{ path: /, issuers: ["http://127.0.0.1:8080"] }, { path: /mcp/v1.0, name: Tools }]'
    const { config } = readGatewayConfig(withSecret(aConfigDir(t, { 'gateway.yaml': resources(good) })))
    t.match(config.resources, [{ path: '/' }, { path: '/mcp/v1.0', name: 'Tools' }])
  },
)

t.test(
  'readGatewayConfig() reads the name of SRV records, and rejects names that it cannot follow safely',
  async (t) => {
    const read = (entry: string) => {
      const dir = aConfigDir(t, {
        'upstreams.yaml': `learning-platform: { ${entry} }\nauthorization-server: { url: http://127.0.0.1:1 }\n`,
        'ca.pem': aCertificate({ authority: true }).cert,
      })
      return readGatewayConfig(withSecret(dir)).config.upstreams[0]
    }
    t.match(read('srv: http://_http._tcp.api.test/v1'), {
      urls: ['http://_http._tcp.api.test/v1'],
      isSrv: true,
      weights: undefined,
    })
    t.match(read('srv: https://_https._tcp.api.test, caFile: ./ca.pem'), { isSrv: true })
    t.equal(read('url: http://api.test')?.isSrv, false)
    for (const [entry, message] of [
      ['srv: https://_https._tcp.api.test', /C326.*learning-platform\.srv/],
      ['srv: http://_http._tcp.api.test, url: http://api.test', /C307/],
      ['srv: http://_http._tcp.api.test, weights: [1]', /C318.*SRV records/],
      ['srv: http://api.test', /C105/],
      ['srv: http://_http._udp.api.test', /C105/],
      ['srv: http://_http._tcp.api.test:80', /C105/],
      ['srv: http://_http._tcp', /C105/],
      ['srv: _http._tcp.api.test', /C105/],
      ['srv: "http://_http._tcp.api.test/a?b"', /C105/],
    ] as const)
      t.throws(() => read(entry), { message }, entry)
  },
)
