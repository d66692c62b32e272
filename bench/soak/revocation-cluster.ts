import { randomBytes } from 'node:crypto'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { quietPort } from '../../test/fixtures/quiet-port.ts'
import { type Client, registerClient } from '../../test/fixtures/register-client.ts'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'
import { startCountingUpstream } from './start-counting-upstream.ts'
import { writeClusterConfig } from './write-cluster-config.ts'

/** A service that a test can stop, and restart at the same address. */
export type ClusterService = {
  readonly url: string
  /** The current process. */
  readonly process: BenchProcess
  /**
   * Stops the service with SIGTERM. Then starts the service at the same address with these additional settings.
   * `root` is the checkout of the program. Default: the checkout of the last start.
   */
  restart(settings?: Settings, root?: string): Promise<void>
  /** Resolves when the readiness endpoint reports that the store works. */
  ready(): Promise<void>
  /** Returns the value of the first series of a metric. */
  metric(name: string): Promise<number>
}

export type ClusterGateway = ClusterService & {
  /**
   * Returns the status of a request with the token. The status is 201 from the upstream, 401 for a revoked token, or
   * 503 when the token status is unavailable.
   */
  statusOf(token: string): Promise<number>
}

/** Each gateway and each authorization server is a separate process. */
export type RevocationCluster = {
  /** The URL of the clients. Default: the URL of the first service. */
  readonly baseUrl: string
  readonly gateways: readonly ClusterGateway[]
  readonly servers: readonly ClusterService[]
  readonly client: Client
  /** Obtains a new access token of alice, from a new grant. */
  obtainToken(): Promise<string>
}

type Settings = Readonly<Record<string, string>>

export type ServicePorts = { readonly port: number; readonly managementPort: number }

/** Without `redis` and without a store in `serverSettings`, the servers use one SQLite file. */
export type RevocationClusterOptions = {
  /** Folder for data, configuration, and a `.log` file of each service. */
  readonly folder: string
  readonly cleanup: Cleanup
  /** With zero gateways, the clients use the first authorization server directly. */
  readonly gateways: number
  readonly servers: number
  /** URLs of Redis for the servers and for the gateways. */
  readonly redis: { readonly ofServers: string; readonly ofGateways: string } | undefined
  /** If true, the gateways use the revocation stream of their authorization server. */
  readonly eventStream: boolean
  /** Environment variables of the authorization servers. */
  readonly serverSettings?: Readonly<Record<string, string>>
  /** Environment variables of a gateway. A function gets the index of the gateway and the URL of its server. */
  readonly gatewaySettings?: Settings | ((at: number, server: string) => Settings)
  /** Returns the URL at which a gateway connects to the servers. Default: the URL of one server. */
  readonly routeToServers?: (serverUrls: readonly string[], at: number) => Promise<string>
  /**
   * Starts load balancers before the services. Clients use `gateways` as base URL, and gateways use `servers`. Default:
   * no load balancers.
   */
  readonly balance?: (services: {
    readonly gateways: readonly ServicePorts[]
    readonly servers: readonly ServicePorts[]
  }) => Promise<{ readonly gateways: string; readonly servers: string }>
  /** Receives every token, code and secret. */
  readonly secret?: (value: string | undefined) => void
}

const POLL_INTERVAL_MS = 100
const STATE_LIMIT_MS = 30_000
const SCOPE = 'courses:read'
const ROUTE = {
  name: 'read',
  match: { methods: ['GET'], path: '/api/courses' },
  scopes: { all: [SCOPE] },
  anonymous: 'deny',
}

/**
 * Starts the cluster and registers a client.
 * @throws {BenchError} ERR_BENCH_START if a process does not start.
 */
export async function startRevocationCluster(options: RevocationClusterOptions): Promise<RevocationCluster> {
  const { gatewaySettings } = options
  const { url: upstream } = await startCountingUpstream(options.cleanup)
  const ports = await Promise.all(
    Array.from({ length: options.gateways + options.servers }, async () => ({
      port: await quietPort(),
      managementPort: await quietPort(),
    })),
  )
  const gatewayPorts = ports.slice(0, options.gateways)
  const serverPorts = ports.slice(options.gateways)
  const serverUrls = serverPorts.map(urlOf)
  const balancers = await options.balance?.({ gateways: gatewayPorts, servers: serverPorts })
  const baseUrl = balancers?.gateways ?? urlOf(ports[0])
  const dataDir = join(options.folder, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, 'gateway-client-secret'), randomBytes(32).toString('base64url'), {
    mode: 0o600,
  })

  const servers: ClusterService[] = []
  for (const own of serverPorts)
    servers.push(
      await startService(options, 'authorization-server', own, serverEnv(options, baseUrl, dataDir)),
    )
  const gateways = await Promise.all(
    gatewayPorts.map(async (own, at) => {
      const server =
        balancers?.servers ??
        (await options.routeToServers?.(serverUrls, at)) ??
        serverUrls[at % serverUrls.length] ??
        ''
      const configDir = writeConfig(options, { at, port: own.port, baseUrl, server, upstream, dataDir })
      const service = await startService(options, 'gateway', own, {
        SCOPEGATE_CONFIG_DIR: configDir,
        ...(typeof gatewaySettings === 'function' ? gatewaySettings(at, server) : gatewaySettings),
      })
      return Object.assign(service, {
        statusOf: (token: string) => statusOf(service.url, token),
      })
    }),
  )
  if (balancers !== undefined)
    await awaitState('the load balancers forward requests', async () => {
      const response = await fetch(`${baseUrl}${ENDPOINTS.jwks}`)
      return response.ok
    })
  const client = await registerClient({ baseUrl, secret: options.secret ?? (() => undefined) })
  const browser = openBrowser(baseUrl)
  return {
    baseUrl,
    gateways,
    servers,
    client,
    obtainToken: async () => (await client.obtainTokens({ browser, scope: SCOPE })).accessToken,
  }
}

/**
 * Waits until every gateway reports this state of the revocation channel.
 * @throws {BenchError} ERR_BENCH_SUBJECT after more than half a minute.
 */
export async function awaitChannel(
  { gateways }: Pick<RevocationCluster, 'gateways'>,
  state: 'up' | 'down',
): Promise<void> {
  for (const gateway of gateways)
    await awaitState(
      `the revocation stream is ${state}`,
      async () => (await gateway.metric('scopegate_revocation_channel_up')) === (state === 'up' ? 1 : 0),
    )
}

async function awaitState(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + STATE_LIMIT_MS
  while (!(await isSo())) {
    if (performance.now() > deadlineMs)
      throw new BenchError('ERR_BENCH_SUBJECT', `not within ${STATE_LIMIT_MS / 1_000} s: ${what}`)
    await wait(POLL_INTERVAL_MS)
  }
}

function serverEnv(
  { redis, serverSettings }: RevocationClusterOptions,
  issuer: string,
  dataDir: string,
): Readonly<Record<string, string>> {
  return {
    SCOPEGATE_ISSUER: issuer,
    SCOPEGATE_DATA_DIR: dataDir,
    SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: join(dataDir, 'gateway-client-secret'),
    SCOPEGATE_DEVELOPMENT: 'true',
    // All sign-ins come from one address.
    SCOPEGATE_AUTHORIZATION__RATE_LIMIT__PER_ADDRESS: '1000000',
    SCOPEGATE_AUTHORIZATION__RATE_LIMIT__WINDOW: '10m',
    ...(redis === undefined ? {} : { SCOPEGATE_STORE__TYPE: 'redis', REDIS_URL: redis.ofServers }),
    ...serverSettings,
  }
}

function writeConfig(
  options: RevocationClusterOptions,
  own: {
    readonly at: number
    readonly port: number
    readonly baseUrl: string
    readonly server: string
    readonly upstream: string
    readonly dataDir: string
  },
): string {
  const folder = join(options.folder, `gateway-${own.at}`)
  writeClusterConfig(folder, {
    routes: [ROUTE],
    upstreams: { api: own.upstream, servers: [own.server] },
    settings: {
      baseUrl: own.baseUrl,
      listen: { host: '127.0.0.1', port: own.port },
      issuers: [
        {
          issuer: own.baseUrl,
          introspection: {
            endpoint: `${own.server}${ENDPOINTS.introspection}`,
            clientId: 'gateway',
            clientSecretFile: join(own.dataDir, 'gateway-client-secret'),
            timeout: '20s', // a slow response on a busy machine is not an outage
          },
          ...(options.eventStream ? { revocations: `${own.server}${REVOCATION_STREAM_PATH}` } : {}),
        },
      ],
      ...(options.redis === undefined ? {} : { redis: { url: options.redis.ofGateways } }),
    },
  })
  return folder
}

async function startService(
  { folder, cleanup }: RevocationClusterOptions,
  name: 'gateway' | 'authorization-server',
  own: ServicePorts,
  env: Settings,
): Promise<ClusterService & { readonly managementUrl: string }> {
  const url = urlOf(own)
  const stdout = openSync(join(folder, `${name}-${own.port}.log`), 'a')
  let program = findPackageRoot()
  let settings: Settings = {
    PORT: String(own.port),
    SCOPEGATE_MANAGEMENT__PORT: String(own.managementPort),
    ...env,
  }
  const start = async () => {
    const started = startProcess({
      name,
      command: [process.execPath, join(program, name, 'main.ts')],
      cores: undefined,
      cleanup,
      stdout,
      env: settings,
    })
    const { managementUrl } = await whenReady(started)
    return { process: started, managementUrl: String(managementUrl) }
  }
  let running = await start()
  return {
    url,
    get process() {
      return running.process
    },
    get managementUrl() {
      return running.managementUrl
    },
    async restart(changed = {}, root = program) {
      settings = { ...settings, ...changed }
      program = root
      await running.process.stop()
      running = await start()
    },
    metric: (name) => readMetric(running.managementUrl, name),
    ready: () =>
      awaitState(`${name} is ready`, async () => {
        const response = await fetch(`${running.managementUrl}/readyz?verbose`)
        return (await response.text()).includes('[+] store')
      }),
  }
}

async function readMetric(managementUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${managementUrl}/metrics`)).text()
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

async function statusOf(url: string, token: string): Promise<number> {
  const response = await fetch(`${url}/api/courses`, { headers: { authorization: `Bearer ${token}` } })
  await response.arrayBuffer()
  return response.status
}

function urlOf(service: ServicePorts | undefined): string {
  return `http://127.0.0.1:${service?.port}`
}
