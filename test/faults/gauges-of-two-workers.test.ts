import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { startIssuer } from '../fixtures/an-issuer.ts'
import { aKey } from '../fixtures/jwk.ts'
import { scrape } from '../fixtures/scrape.ts'
import { until } from '../fixtures/until.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const ISSUER = 'http://127.0.0.1:1'

/** The values of each gauge at the end of the test, in the order of its series. */
const VALUES: Readonly<Record<string, readonly number[]>> = {
  scopegate_build_info: [1],
  scopegate_circuit_state: [0],
  scopegate_http_requests_in_flight: [6],
  scopegate_introspections_in_flight: [2, 4],
  scopegate_jwks_keys: [2],
  scopegate_overload_level: [0],
  scopegate_policy_info: [1],
  scopegate_policy_reload_success: [1],
  scopegate_policy_routes: [3],
  scopegate_policy_source_last_fetch_timestamp_seconds: [], // without policy sources
  scopegate_policy_source_valid: [], // without policy sources
  scopegate_rate_limit_entries: [3],
  scopegate_revocation_channel_up: [0],
  scopegate_secret_file_usable: [1],
  scopegate_token_cache_entries: [0, 3],
  scopegate_token_stale_active: [1],
  scopegate_upstream_certificate_expiry_seconds: [], // without client certificates
  scopegate_upstream_pending_requests: [0],
  scopegate_upstream_target_healthy: [], // without health checks
  scopegate_upstream_token_expiry_seconds: [], // without client credentials
  scopegate_upstream_up: [1],
  scopegate_websocket_sessions: [3],
  scopegate_workers: [2],
}
/** The lowest and the highest possible value of the other gauges. */
const RANGES: Readonly<Record<string, readonly [low: number, high: number]>> = {
  scopegate_event_loop_delay_seconds: [0, 30],
  scopegate_heap_used_ratio: [0, 1],
  scopegate_memory_used_ratio: [0, 1],
  scopegate_upstream_connections: [0, 20], // idle connections end after 4 s
  scopegate_jwks_last_success_timestamp_seconds: [0, Number.POSITIVE_INFINITY],
}

/** An issuer whose keys differ at each fetch, and whose revocation stream accepts only the first worker. */
async function startUnequalIssuer(t: Test) {
  const fetches: number[] = []
  let streams = 0
  const server = createServer((request, response) => {
    if (request.url === '/keys') {
      fetches.push(Date.now())
      const keys = Array.from({ length: fetches.length === 1 ? 3 : 2 }, (_, at) => aKey('ES256', `${at}`).jwk)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }))
      return
    }
    streams += 1
    if (streams > 1) response.writeHead(503).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ready\ndata: {}\n\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, fetches }
}

/** The supervisor assigns connections to the workers alternately. By default, each request has its own connection. */
const request = (url: string, token: string, agent: Agent | false = false): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    }).on('error', reject)
  })

t.test('the metrics of two workers contain each gauge once, with the documented merged value', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const folder = t.testdir()
  const unequal = await startUnequalIssuer(t)
  const issuer = await startIssuer({ issuer: ISSUER, audience: 'http://127.0.0.1:8080' })
  t.teardown(() => issuer.close())
  const upstream = await startWebsocketUpstream()
  t.teardown(() => upstream.close())
  writeFileSync(join(folder, 'issuer-secret'), issuer.clientSecret, { mode: 0o600 })
  const { endpoint, clientId } = issuer
  const introspection = {
    endpoint,
    clientId,
    clientSecretFile: './issuer-secret',
    timeout: '20s',
    maxConcurrent: 1,
  }
  const gateway = await startSoakGateway({
    ...{ folder, cleanup, upstream: upstream.url },
    moreRoutes: [
      { name: 'live', match: { methods: ['GET'], path: '/live' }, anonymous: 'allow', websocket: true },
      {
        ...{ name: 'limited', match: { methods: ['GET'], path: '/limited' }, anonymous: 'deny' },
        rateLimit: { requests: 1_000, per: '1h', by: 'client' },
      },
    ],
    settings: {
      workers: 2,
      policyReload: 'manual',
      tokenCache: { maxTtl: '50ms', ttlWithoutPush: '50ms' },
      issuers: [
        { issuer: ISSUER, introspection, revocations: `${unequal.url}/revocations` },
        { issuer: unequal.url, jwt: { keys: { uri: `${unequal.url}/keys` } } },
      ],
    },
  })
  const { url, managementUrl, process: supervisor } = gateway

  const sessions = await Promise.all(Array.from({ length: 3 }, () => openWebsocket(`${url}/live`)))
  t.teardown(() => sessions.map(({ socket }) => socket.terminate()))

  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const tokens = ['first', 'second', 'third'].map((name) =>
    issuer.store(`${name}-token`, { client_id: name }),
  )
  for (const [at, token] of tokens.entries())
    t.equal(await request(`${url}/limited`, token, at === 0 ? agent : false), 200)

  const [known = ''] = tokens
  issuer.answerWith((response) => response.writeHead(503).end())
  await until('one worker uses an earlier token status', async () => {
    t.equal(await request(`${url}/pub/x`, known, agent), 200)
    return (await scrape(managementUrl)).text.includes(`scopegate_token_stale_active{issuer="${ISSUER}"} 1\n`)
  })

  const held: ServerResponse[] = []
  issuer.answerWith((response) => held.push(response))
  const waiting = Array.from({ length: 6 }, (_, at) => request(`${url}/pub/x`, `held-token-${at}`))
  await until('both workers wait for the issuer', async () =>
    (await scrape(managementUrl)).text.includes('state="waiting"} 4\n'),
  )

  const { text } = await scrape(managementUrl)
  const valuesOf = (name: string): readonly number[] =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(([, value]) => Number(value))
  const gauges = [...text.matchAll(/^# TYPE (scopegate_\S+) gauge$/gm)].map(([, name = '']) => name)
  t.strictSame(gauges.toSorted(), [...Object.keys(VALUES), ...Object.keys(RANGES)].toSorted())
  for (const [name, values] of Object.entries(VALUES)) t.strictSame(valuesOf(name), values, name)
  const assertBetween = (name: string, low: number, high: number): void => {
    const [value = Number.NaN, ...others] = valuesOf(name)
    t.ok(value >= low && value <= high && others.length === 0, `${name}: ${low} to ${high}`, {
      value,
      others,
    })
  }
  for (const [name, [low, high]] of Object.entries(RANGES)) assertBetween(name, low, high)
  const [first = 0, second = 0] = unequal.fetches
  assertBetween('scopegate_jwks_last_success_timestamp_seconds', first / 1_000, second / 1_000)

  const pids = [supervisor.pid, ...childrenOf(supervisor.pid)]
  t.equal(pids.length, 3)
  const memory = pids.map(
    (pid) => 1_024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
  )
  const sum = memory.reduce((total, bytes) => total + bytes)
  assertBetween('process_resident_memory_bytes', 0.8 * sum, 1.2 * sum)
  const files = Math.max(...pids.map((pid) => readdirSync(`/proc/${pid}/fd`).length))
  assertBetween('process_open_fds', files - 5, files + 5)

  issuer.answerWith(undefined)
  for (const response of held)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}')
  t.strictSame(new Set(await Promise.all(waiting)), new Set([401]))
})
