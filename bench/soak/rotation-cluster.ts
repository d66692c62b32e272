import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { makeSigningKeys } from '../../authorization-server/keys/signing-keys.ts'
import { generatePrivateKey } from '../../gateway/upstream-identity/assertion-key.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aCertificate, type TestCertificate } from '../../test/fixtures/a-certificate.ts'
import { quietPort } from '../../test/fixtures/quiet-port.ts'
import { makeSecret } from '../../test/fixtures/rotating-services.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import type { Cleanup } from '../cleanup.ts'
import { startProcess, whenReady } from '../start-process.ts'
import { writeClusterConfig } from './write-cluster-config.ts'

/** The services read these files while they run. */
export type RotationFiles = Readonly<
  Record<
    | 'serverSecrets'
    | 'gatewaySecret'
    | 'cookieKeys'
    | 'signingKeys'
    | 'nonceSecrets'
    | 'assertionKey'
    | 'redisPassword'
    | 'certificate'
    | 'certificateKey',
    string
  >
>

/**
 * Two authorization servers on one Redis, and a gateway with two workers and TLS. Each service is a separate process.
 */
export type RotationCluster = {
  readonly baseUrl: string
  readonly serverUrls: readonly string[]
  readonly files: RotationFiles
  /** A connection to Redis as the administrator. */
  readonly redis: Redis
  /** Signs the certificates of the gateway. */
  readonly authority: TestCertificate
}

/** The gateway and the authorization servers use this Redis ACL user. */
export const REDIS_USER = 'scopegate'
export const ACCESS_TOKEN_SECONDS = 60

const ROUTE = { scopes: { all: ['courses:read'] }, anonymous: 'challenge', upstreamAuth: 'assertion' }
const ROUTES = [
  { name: 'opaque', match: { methods: ['GET'], path: '/api/courses' }, ...ROUTE },
  { name: 'jwt', match: { methods: ['GET'], path: '/mcp' }, ...ROUTE },
]

export async function startRotationCluster(options: {
  readonly folder: string
  readonly cleanup: Cleanup
}): Promise<RotationCluster> {
  const { folder, cleanup } = options
  const authority = aCertificate({ authority: true })
  const files = await writeFiles(folder, authority)
  const redisFolder = join(folder, 'redis')
  mkdirSync(redisFolder)
  const { url, port: redisPort, stop } = await startRedis({ folder: redisFolder })
  cleanup.add(stop)
  const redis = new Redis({ port: redisPort, host: '127.0.0.1' })
  cleanup.add(() => redis.disconnect())
  await redis.call('ACL', 'SETUSER', REDIS_USER, 'on', `>${INITIAL_PASSWORD}`, '~*', '&*', '+@all')
  const [gatewayPort, ...serverPorts] = await Promise.all([quietPort(), quietPort(), quietPort()])
  const baseUrl = `https://127.0.0.1:${gatewayPort}`
  const serverUrls = serverPorts.map((port) => `http://127.0.0.1:${port}`)
  for (const port of serverPorts)
    await startService(options, 'authorization-server', port, {
      SCOPEGATE_ISSUER: baseUrl,
      SCOPEGATE_DATA_DIR: folder,
      SCOPEGATE_DEVELOPMENT: 'true',
      SCOPEGATE_STORE__TYPE: 'redis',
      SCOPEGATE_REDIS__URL: url,
      SCOPEGATE_REDIS__USERNAME: REDIS_USER,
      SCOPEGATE_REDIS__PASSWORD_FILE: files.redisPassword,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: files.serverSecrets,
      SCOPEGATE_COOKIE_KEYS_FILE: files.cookieKeys,
      SCOPEGATE_SIGNING_KEYS_FILE: files.signingKeys,
      SCOPEGATE_PROTECTED_RESOURCES__0: '/mcp',
      SCOPEGATE_ACCESS_TOKENS__RESOURCES__0__PATH: '/mcp',
      SCOPEGATE_ACCESS_TOKENS__RESOURCES__0__FORMAT: 'jwt',
      SCOPEGATE_LIFETIMES__ACCESS_TOKEN: `${ACCESS_TOKEN_SECONDS}s`,
      SCOPEGATE_AUTHORIZATION__RATE_LIMIT__PER_ADDRESS: '1000000',
    })
  const upstream = await startEchoUpstream(cleanup)
  const configDir = join(folder, 'config')
  writeClusterConfig(configDir, {
    routes: ROUTES,
    upstreams: { api: upstream, servers: serverUrls },
    settings: {
      baseUrl,
      listen: { host: '127.0.0.1', port: gatewayPort },
      tls: { certFile: files.certificate, keyFile: files.certificateKey },
      workers: 2,
      resources: [{ path: '/mcp' }],
      issuers: [
        {
          issuer: baseUrl,
          jwt: { keys: { uri: `${serverUrls[0]}${ENDPOINTS.jwks}` } },
          introspection: {
            endpoint: `${serverUrls[0]}${ENDPOINTS.introspection}`,
            clientId: 'gateway',
            clientSecretFile: files.gatewaySecret,
            timeout: '20s',
          },
        },
      ],
      redis: { url, username: REDIS_USER, passwordFile: files.redisPassword },
      dpop: { nonce: 'required', nonceSecretFile: files.nonceSecrets },
      assertion: { keyFile: files.assertionKey },
      tokenCache: { maxTtl: '10ms' },
    },
  })
  await startService(options, 'gateway', gatewayPort, { SCOPEGATE_CONFIG_DIR: configDir })
  return { baseUrl, serverUrls, files, redis, authority }
}

const INITIAL_PASSWORD = makeSecret()

async function writeFiles(folder: string, authority: TestCertificate): Promise<RotationFiles> {
  const secret = makeSecret()
  const certificate = aCertificate({ by: authority })
  const contents: Readonly<Record<keyof RotationFiles, string>> = {
    serverSecrets: secret,
    gatewaySecret: secret,
    cookieKeys: makeSecret(),
    signingKeys: JSON.stringify(await makeSigningKeys()),
    nonceSecrets: makeSecret(),
    assertionKey: generatePrivateKey(),
    redisPassword: INITIAL_PASSWORD,
    certificate: certificate.cert,
    certificateKey: certificate.key,
  }
  const entries = Object.entries(contents).map(([name, content]) => {
    const file = join(folder, name)
    writeFileSync(file, content, { mode: 0o600 })
    return [name, file]
  })
  return Object.fromEntries(entries) as RotationFiles
}

async function startService(
  { folder, cleanup }: { readonly folder: string; readonly cleanup: Cleanup },
  name: 'gateway' | 'authorization-server',
  port: number | undefined,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const stdout = openSync(join(folder, `${name}-${port}.log`), 'a')
  const command = [process.execPath, join(findPackageRoot(), name, 'main.ts')]
  const ports = { PORT: String(port), SCOPEGATE_MANAGEMENT__PORT: '0' }
  await whenReady(
    startProcess({ name, command, cores: undefined, cleanup, stdout, env: { ...ports, ...env } }),
  )
}

/** The upstream returns the assertion of the request. */
async function startEchoUpstream(cleanup: Cleanup): Promise<string> {
  const server = createServer((request, response) => {
    response.end(JSON.stringify({ assertion: request.headers['x-auth-assertion'] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
