// npm run soak:sizing: measures the figures of docs/sizing.md. These are the memory of each process, route, connection,
// stream and cached token, and the size of a grant in each store. Names after `--` select parts: start, routes,
// connections, tls, streams, tokens, grants.
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { Redis } from 'ioredis'
import { aCertificate } from '../../test/fixtures/a-certificate.ts'
import { startPostgres } from '../../test/fixtures/postgres.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { measureCachedTokens } from '../tokens/measure-cached-tokens.ts'
import type { Measurement } from './measurement.ts'
import { readMemory, readStableMemory } from './memory-use.ts'
import { startRevocationCluster } from './revocation-cluster.ts'
import { measureParts, runSoak, type Soak, type SoakParts } from './run-soak.ts'
import { startBodyUpstream } from './start-body-upstream.ts'
import { type SoakGateway, startSoakGateway } from './start-soak-gateway.ts'
import { startStreamUpstream } from './start-stream-upstream.ts'

const KIB = 1_024
const MIB = KIB * KIB
const ROUTES = 10_000
const ROUTES_OF_POLICY = 1_000
const CONNECTIONS = 5_000
const TLS_CONNECTIONS = 2_000
const STREAMS = 2_000
const TOKENS = 100_000
const GRANTS = 500
const WARM_UP_GRANTS = 100
/** Connections that the client opens at the same time. */
const CONCURRENCY = 50
const ONE_SERVER = { gateways: 0, servers: 1, redis: undefined, eventStream: false }

const PARTS: SoakParts = {
  start: measureProcesses,
  routes: measureRoutes,
  connections: async (soak) => {
    const gateway = await startSoakGateway({ ...soak, upstream: await startBodyUpstream(soak.cleanup) })
    return measureSockets('idle connection', gateway, CONNECTIONS)
  },
  tls: async (soak) => {
    const { cert, key } = aCertificate()
    writeFileSync(join(soak.folder, 'tls.crt'), cert)
    writeFileSync(join(soak.folder, 'tls.key'), key, { mode: 0o600 })
    const gateway = await startSoakGateway({
      ...soak,
      upstream: await startBodyUpstream(soak.cleanup),
      settings: { baseUrl: 'https://127.0.0.1:8443', tls: { certFile: './tls.crt', keyFile: './tls.key' } },
    })
    return measureSockets('idle TLS connection', gateway, TLS_CONNECTIONS)
  },
  streams: async (soak) => {
    const gateway = await startSoakGateway({ ...soak, upstream: await startStreamUpstream(soak.cleanup) })
    return measureSockets('open event stream', gateway, STREAMS)
  },
  async tokens() {
    const { heapBytes } = await measureCachedTokens(TOKENS)
    return [figure(`cached opaque token (of ${TOKENS})`, `${heapBytes.toFixed(0)} B`)]
  },
  grants: measureGrants,
}

await runSoak((soak) => measureParts(soak, PARTS))

async function measureProcesses(soak: Soak): Promise<readonly Measurement[]> {
  const upstream = await startBodyUpstream(soak.cleanup)
  const rows: Measurement[] = []
  for (const workers of [1, 2]) {
    const folder = join(soak.folder, `workers-${workers}`)
    mkdirSync(folder)
    const gateway = await startSoakGateway({ ...soak, folder, upstream, settings: { workers } })
    const bytes = await readStableMemory(gateway.process.pid)
    rows.push(
      figure(
        workers === 1 ? 'gateway, one process' : `gateway, supervisor and ${workers} workers`,
        mib(bytes),
      ),
    )
  }
  const folder = join(soak.folder, 'server')
  mkdirSync(folder)
  const { servers } = await startRevocationCluster({ ...ONE_SERVER, ...soak, folder })
  rows.push(figure('authorization server, SQLite', mib(await readStableMemory(servers[0]?.process.pid ?? 0))))
  return rows
}

async function measureRoutes(soak: Soak): Promise<readonly Measurement[]> {
  const upstream = await startBodyUpstream(soak.cleanup)
  const bytes: number[] = []
  const seconds: number[] = []
  for (const count of [0, ROUTES]) {
    const folder = join(soak.folder, `routes-${count}`)
    mkdirSync(folder)
    writePolicies(join(folder, 'policies'), count)
    const startedMs = performance.now()
    const gateway = await startSoakGateway({ ...soak, folder, upstream })
    seconds.push((performance.now() - startedMs) / 1_000)
    bytes.push(await readStableMemory(gateway.process.pid))
    await gateway.process.stop()
  }
  const [without = 0, withRoutes = 0] = bytes
  return [
    figure(`route (of ${ROUTES})`, kib((withRoutes - without) / ROUTES)),
    figure('start with one route', `${seconds[0]?.toFixed(1)} s`),
    figure(`start with ${ROUTES} routes`, `${seconds[1]?.toFixed(1)} s`),
  ]
}

/** Writes policies of 1,000 routes each. JSON is valid YAML. */
function writePolicies(folder: string, routes: number): void {
  mkdirSync(folder)
  for (let first = 0; first < routes; first += ROUTES_OF_POLICY) {
    const name = `family-${first}`
    const own = Array.from({ length: ROUTES_OF_POLICY }, (_, index) => ({
      name: `route-${index}`,
      match: { methods: ['GET'], path: `/api/${name}/kind-${index}/{id}` },
      scopes: { all: ['courses:read'] },
      anonymous: 'challenge',
    }))
    const policy = {
      apiVersion: 'scopegate/v1',
      kind: 'Policy',
      name,
      owner: 'soak',
      upstream: 'api',
      routes: own,
    }
    writeFileSync(join(folder, `${name}.policy.yaml`), JSON.stringify(policy))
  }
}

/** Opens connections with one request each, and measures the memory of the gateway before and after. */
async function measureSockets(
  what: string,
  gateway: SoakGateway,
  count: number,
): Promise<readonly Measurement[]> {
  const { hostname, port, host, protocol } = new URL(gateway.url)
  const sockets: Socket[] = []
  const open = async (): Promise<void> => {
    const socket =
      protocol === 'https:'
        ? connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false })
        : connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.write(`GET /pub/size?bytes=2 HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    await once(socket, 'data')
  }
  const openMany = async (total: number): Promise<void> => {
    for (let opened = 0; opened < total; opened += CONCURRENCY)
      await Promise.all(Array.from({ length: CONCURRENCY }, open))
  }
  await openMany(CONCURRENCY) // the first requests allocate objects that all connections share
  const before = await readStableMemory(gateway.process.pid)
  await openMany(count)
  const after = readMemory(gateway.process.pid)
  const openAtEnd = sockets.filter((socket) => !socket.closed && !socket.readableEnded).length
  for (const socket of sockets) socket.destroy()
  return [
    figure(`${what} (of ${count})`, kib((after - before) / count)),
    figure(`${what}: open at the end`, String(openAtEnd - CONCURRENCY)),
  ]
}

async function measureGrants({ folder, cleanup }: Soak): Promise<readonly Measurement[]> {
  const place = (name: string): string => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }
  const redis = await startRedis({ folder: place('redis-data'), keepsData: true })
  cleanup.add(() => redis.stop())
  const client = new Redis(redis.url)
  cleanup.add(() => client.disconnect())
  const postgres = await startPostgres()
  cleanup.add(() => postgres.remove())
  const stores = [
    {
      name: 'SQLite',
      settings: {},
      readBytes: async (own: string) => sizeOf(join(own, 'data')),
    },
    {
      name: 'Redis',
      settings: { SCOPEGATE_STORE__TYPE: 'redis', REDIS_URL: redis.url },
      readBytes: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
    },
    {
      name: 'PostgreSQL',
      settings: { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: postgres.url },
      readBytes: async () => {
        const [row] = await postgres.query('select pg_database_size(current_database())::text as bytes')
        return Number(Object(row)['bytes'])
      },
    },
  ]
  const rows: Measurement[] = []
  for (const { name, settings, readBytes } of stores) {
    const own = place(name)
    const cluster = await startRevocationCluster({
      ...ONE_SERVER,
      folder: own,
      cleanup,
      serverSettings: settings,
    })
    const obtain = async (total: number): Promise<void> => {
      for (let obtained = 0; obtained < total; obtained++) await cluster.obtainToken()
    }
    await obtain(WARM_UP_GRANTS)
    const before = await readBytes(own)
    await obtain(GRANTS)
    const after = await readBytes(own)
    rows.push(figure(`grant with its tokens, ${name} (of ${GRANTS})`, kib((after - before) / GRANTS)))
  }
  return rows
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}

function figure(what: string, measured: string): Measurement {
  return { what, measured, limit: 'none', passed: undefined }
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB`
}

function kib(bytes: number): string {
  return `${(bytes / KIB).toFixed(1)} KiB`
}
