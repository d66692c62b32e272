import { randomBytes } from 'node:crypto'
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { startPostgres } from '../../test/fixtures/postgres.ts'
import { startCluster } from '../../test/fixtures/redis-cluster.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import type { Cores } from '../choose-cores.ts'
import type { Cleanup } from '../cleanup.ts'
import { findProgram } from '../find-program.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'

type Options = { readonly cores: Cores | undefined; readonly folder: string; readonly cleanup: Cleanup }

/** An authorization server with the paths of Scopegate and the client `gateway`. */
export type BenchAuthorizationServer = {
  /** Name of the store, or of the peer. */
  readonly name: string
  readonly process: BenchProcess
  readonly core: string | undefined
  readonly baseUrl: string
  /** The client `gateway` introspects tokens with this secret. */
  readonly gatewaySecret: string
}

type BenchStore = {
  readonly name: string
  readonly isInstalled: () => boolean
  /** Starts the store. Returns the settings of an authorization server with this store. */
  readonly start: (options: Options) => Promise<Readonly<Record<string, string>>>
}

const isRedisInstalled = (): boolean => findProgram('redis-server') !== undefined

const STORES: readonly BenchStore[] = [
  { name: 'SQLite', isInstalled: () => true, start: async () => ({ SCOPEGATE_STORE__TYPE: 'sqlite' }) },
  {
    name: 'Redis',
    isInstalled: isRedisInstalled,
    start: async ({ folder, cleanup }) => {
      const server = await startRedis({ folder, keepsData: true })
      cleanup.add(server.stop)
      return { SCOPEGATE_STORE__TYPE: 'redis', SCOPEGATE_REDIS__URL: server.url }
    },
  },
  {
    name: 'Redis Cluster',
    isInstalled: isRedisInstalled,
    start: async ({ folder, cleanup }) => {
      const args = ['--appendonly', 'yes', '--appendfsync', 'always']
      const cluster = await startCluster(folder, { replicas: false, args })
      cleanup.add(cluster.stop)
      const addresses = cluster.addresses.join(',')
      return { SCOPEGATE_STORE__TYPE: 'redis', SCOPEGATE_REDIS__CLUSTER__ADDRESSES: addresses }
    },
  },
  {
    name: 'PostgreSQL',
    isInstalled: () => globSync('/usr/lib/postgresql/*/bin').length > 0,
    start: async ({ cleanup }) => {
      const server = await startPostgres({ settings: { fsync: 'on' } })
      cleanup.add(server.remove)
      return { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: server.url }
    },
  },
]

const UNLIMITED = '1000000000'

/**
 * Starts an authorization server on each installed store. Every store confirms a write after the write is on the disk.
 * @returns the servers, and the names of the stores that are not installed.
 * @throws {BenchError} ERR_BENCH_START.
 */
export async function startAuthorizationServers(options: Options): Promise<{
  readonly servers: readonly BenchAuthorizationServer[]
  readonly missing: readonly string[]
}> {
  const servers: BenchAuthorizationServer[] = []
  for (const { name, start } of STORES.filter(({ isInstalled }) => isInstalled())) {
    const folder = join(options.folder, name.replace(' ', '-'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const settings = await start({ ...options, folder })
    servers.push(await startOnStore(name, { ...options, folder }, settings))
  }
  return { servers, missing: STORES.filter(({ isInstalled }) => !isInstalled()).map(({ name }) => name) }
}

async function startOnStore(
  name: string,
  { cores, folder, cleanup }: Options,
  settings: Readonly<Record<string, string>>,
): Promise<BenchAuthorizationServer> {
  const port = await findFreePort('127.0.0.1')
  const baseUrl = `http://127.0.0.1:${port}`
  const gatewaySecret = randomBytes(32).toString('base64url')
  const secretFile = join(folder, 'gateway-client-secret')
  writeFileSync(secretFile, gatewaySecret, { mode: 0o600 })
  const server = startProcess({
    name: `authorization server on ${name}`,
    command: [process.execPath, program('../../authorization-server/main.ts')],
    cores: cores?.server,
    cleanup,
    env: {
      PORT: String(port),
      SCOPEGATE_ISSUER: baseUrl,
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DATA_DIR: folder,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: secretFile,
      SCOPEGATE_DEVELOPMENT: 'true',
      SCOPEGATE_LIFETIMES__ACCESS_TOKEN: '1d', // the introspected tokens stay active
      SCOPEGATE_LIFETIMES__CODE: '10m', // the codes for a round stay valid on a slow machine
      SCOPEGATE_REGISTRATION__RATE_LIMIT__PER_ADDRESS: UNLIMITED,
      SCOPEGATE_REGISTRATION__RATE_LIMIT__WINDOW: '1m',
      SCOPEGATE_AUTHORIZATION__RATE_LIMIT__PER_ADDRESS: UNLIMITED,
      SCOPEGATE_AUTHORIZATION__RATE_LIMIT__WINDOW: '1m',
      ...settings,
    },
  })
  await whenReady(server)
  return { name, process: server, core: cores?.server, baseUrl, gatewaySecret }
}

/**
 * The peer is oidc-provider with its in-memory adapter, without Scopegate.
 * @throws {BenchError} ERR_BENCH_START.
 */
export async function startBareProvider({ cores, cleanup }: Options): Promise<BenchAuthorizationServer> {
  const { version } = createRequire(import.meta.url)('oidc-provider/package.json')
  const name = `bare oidc-provider ${version} in memory`
  const gatewaySecret = randomBytes(32).toString('base64url')
  const server = startProcess({
    name,
    command: [process.execPath, program('../subjects/bare-provider.ts')],
    cores: cores?.server,
    cleanup,
    env: { BENCH_GATEWAY_SECRET: gatewaySecret },
  })
  const { url } = await whenReady(server)
  return { name, process: server, core: cores?.server, baseUrl: String(url), gatewaySecret }
}

function program(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}
