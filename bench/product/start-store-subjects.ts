import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryPort } from '../../cli/commands/dev/choose-port.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { startPostgres } from '../../test/fixtures/postgres.ts'
import { startCluster } from '../../test/fixtures/redis-cluster.ts'
import { registerClient } from '../../test/fixtures/register-client.ts'
import { send } from '../../test/fixtures/send.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { BenchError } from '../bench-error.ts'
import type { Cores } from '../choose-cores.ts'
import type { Cleanup } from '../cleanup.ts'
import type { Exchange } from '../load/exchange-load.ts'
import { CONNECTIONS } from '../load/load.ts'
import { startProcess, whenReady } from '../start-process.ts'
import type { Subject } from '../subject.ts'

type Options = { readonly cores: Cores | undefined; readonly folder: string; readonly cleanup: Cleanup }

/** An authorization server on one store, and the load on two of its endpoints. */
export type StoreSubject = {
  readonly store: string
  readonly introspection: Subject
  readonly refresh: Subject
  /** For the URL of each endpoint, the function that sends one request. */
  readonly exchanges: ReadonlyMap<string, Exchange>
}

/** Starts a store, and returns the settings of an authorization server on this store. */
type StartStore = (options: Options) => Promise<Readonly<Record<string, string>>>

const STORES: readonly (readonly [name: string, start: StartStore])[] = [
  ['SQLite', async () => ({ SCOPEGATE_STORE__TYPE: 'sqlite' })],
  [
    'Redis',
    async ({ folder, cleanup }) => {
      const server = await startRedis({ folder, keepsData: true })
      cleanup.add(server.stop)
      return { SCOPEGATE_STORE__TYPE: 'redis', SCOPEGATE_REDIS__URL: server.url }
    },
  ],
  [
    'Redis Cluster',
    async ({ folder, cleanup }) => {
      const args = ['--appendonly', 'yes', '--appendfsync', 'always']
      const cluster = await startCluster(folder, { replicas: false, args })
      cleanup.add(cluster.stop)
      const addresses = cluster.addresses.join(',')
      return { SCOPEGATE_STORE__TYPE: 'redis', SCOPEGATE_REDIS__CLUSTER__ADDRESSES: addresses }
    },
  ],
  [
    'PostgreSQL',
    async ({ cleanup }) => {
      const server = await startPostgres({ settings: { fsync: 'on' } })
      cleanup.add(server.remove)
      return { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: server.url }
    },
  ],
]

/**
 * Starts an authorization server on each store. Every store confirms a write after the write is on the disk. Each
 * connection of the load has its own grant.
 * @throws {BenchError} ERR_BENCH_START.
 */
export async function startStoreSubjects(options: Options): Promise<readonly StoreSubject[]> {
  const subjects: StoreSubject[] = []
  for (const [store, start] of STORES) {
    const folder = join(options.folder, store.replace(' ', '-'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const settings = await start({ ...options, folder })
    subjects.push(await startSubject(store, { ...options, folder }, settings))
  }
  return subjects
}

async function startSubject(
  store: string,
  { cores, folder, cleanup }: Options,
  settings: Readonly<Record<string, string>>,
): Promise<StoreSubject> {
  const port = await tryPort(0)
  if (port === undefined) throw new BenchError('ERR_BENCH_START', 'no free port on 127.0.0.1')
  const baseUrl = `http://127.0.0.1:${port}`
  const secret = randomBytes(32).toString('base64url')
  const secretFile = join(folder, 'gateway-client-secret')
  writeFileSync(secretFile, secret, { mode: 0o600 })
  const server = startProcess({
    name: `authorization server on ${store}`,
    command: [
      process.execPath,
      fileURLToPath(new URL('../../authorization-server/main.ts', import.meta.url)),
    ],
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
      ...settings,
    },
  })
  await whenReady(server)
  const client = await registerClient({ baseUrl, secret: () => undefined })
  const accessTokens: string[] = []
  const refreshTokens: string[] = []
  for (let connection = 0; connection < CONNECTIONS; connection++) {
    // Each new browser has its own session, and therefore its own grant.
    const tokens = await client.obtainTokens({ browser: openBrowser(baseUrl), scope: 'openid courses:read' })
    accessTokens.push(tokens.accessToken)
    refreshTokens.push(tokens.refreshToken)
  }
  const urls = {
    introspection: `${baseUrl}${ENDPOINTS.introspection}`,
    refresh: `${baseUrl}${ENDPOINTS.token}`,
  }
  const introspect: Exchange = async (connection) => {
    const form = { token: accessTokens[connection], client_id: 'gateway', client_secret: secret }
    const { status, json } = await send(urls.introspection, { form })
    return status !== 200 ? 'wrongStatus' : json['active'] === true ? 'right' : 'wrongBody'
  }
  const refresh: Exchange = async (connection) => {
    const used = String(refreshTokens[connection])
    const response = await client.refresh(used)
    if (response.status !== 200) return 'wrongStatus'
    const { refreshToken } = client.readTokens(response)
    if (refreshToken === used) return 'wrongBody'
    refreshTokens[connection] = refreshToken
    return 'right'
  }
  const subjectOf = (kind: keyof typeof urls): Subject => ({
    name: `${kind}, ${store}`,
    process: server,
    core: cores?.server,
    target: { url: urls[kind], headers: {}, expectedBody: '' },
  })
  return {
    store,
    introspection: subjectOf('introspection'),
    refresh: subjectOf('refresh'),
    exchanges: new Map([
      [urls.introspection, introspect],
      [urls.refresh, refresh],
    ]),
  }
}
