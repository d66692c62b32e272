import { METHODS } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { scrape } from '../fixtures/scrape.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

/** About 100 requests of each kind. */
const REQUESTS = 1_000
const CONCURRENCY = 64
/**
 * Series that do not depend on requests: kinds of garbage collection and of open handles, and the sweep of the store,
 * which runs every minute.
 */
const WITHOUT_REQUESTS =
  /^nodejs_(?:gc_duration_seconds|active_(?:handles|requests|resources))|[{,]operation="sweep"/

/** Methods that the parser of Node.js accepts, and that have no label of their own. It rejects all unknown methods. */
const OTHER_METHODS = METHODS.filter(
  (method) =>
    !['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'].includes(method),
)

type MakeRequest = (id: string) => string

/** Creates a request whose method, path, query, host, user agent, client, address and token contain the ID. */
function request(method: string, target: string, id: string, body = ''): string {
  const credentials = Buffer.from(`client-${id}:secret-${id}`).toString('base64')
  return [
    `${method} ${target} HTTP/1.1`,
    `host: host-${id}.test`,
    `user-agent: agent-${id}`,
    `authorization: ${target.startsWith('/api/oauth/') ? `Basic ${credentials}` : `Bearer token-${id}`}`,
    `x-forwarded-for: 203.0.113.7, host-${id}.test`,
    `x-request-id: request-${id}`,
    `origin: https://origin-${id}.test`,
    'content-type: application/x-www-form-urlencoded',
    `content-length: ${body.length}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

/** The first request of a kind has the first method. All other requests together have all methods. */
function otherMethod(id: string): string {
  return OTHER_METHODS[id === 'first' ? 0 : Number(id) % OTHER_METHODS.length] ?? ''
}

/** Sends a request on a new connection. The service closes the connection after its response. */
function send(port: number, bytes: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = false
    socket.on('data', () => (received = true))
    // A service can close the connection before it reads the whole request.
    socket.on('error', (error) => (received ? resolve() : reject(error)))
    socket.on('close', () => (received ? resolve() : reject(new Error('no response'))))
    socket.write(bytes)
  })
}

async function sendAll(port: number, requests: readonly string[]): Promise<void> {
  const queue = requests.values()
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const bytes of queue) await send(port, bytes)
    }),
  )
}

async function readSeries(managementUrl: string): Promise<readonly string[]> {
  const { text } = await scrape(managementUrl)
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(' ')))
  return series.filter((one) => !WITHOUT_REQUESTS.test(one)).toSorted()
}

/** Sends one request of each kind, and 1,000 different requests. Asserts that the second step adds no series. */
async function assertConstantSeries(
  t: Test,
  service: { readonly port: number; readonly managementUrl: string },
  kinds: readonly MakeRequest[],
): Promise<void> {
  await sendAll(
    service.port,
    kinds.map((make) => make('first')),
  )
  const before = await readSeries(service.managementUrl)
  t.ok(before.length > 100)
  await sendAll(
    service.port,
    Array.from({ length: REQUESTS }, (_, index) => kinds[index % kinds.length]?.(`${index}`) ?? ''),
  )
  const after = await readSeries(service.managementUrl)
  t.same(
    after.filter((one) => !before.includes(one)),
    [],
    'no new series',
  )
  t.equal(after.length, before.length)
}

t.test('1,000 different requests add no series to the gateway', async (t) => {
  const under = await startGatewayUnderTest(t)
  const port = Number(new URL(under.gateway.url).port)
  await assertConstantSeries(t, { port, managementUrl: under.gateway.managementUrl }, [
    (id) => request('GET', `/unknown-${id}?query=${id}`, id),
    (id) => request('GET', `/api/courses/${id}`, id),
    (id) => request('GET', `/pub/${id}`, id).replace(/authorization: .*\r\n/, ''),
    (id) => request(`METHOD-${id}`, `/pub/${id}`, id),
    (id) => request(`METHOD-${id}`, `/unknown-${id}`, id),
    (id) => request(otherMethod(id), `/pub/${id}`, id),
    (id) => request(otherMethod(id), `/unknown-${id}`, id),
    (id) => request('PATCH', `/api/challenged?query=${id}`, id),
    (id) => request('POST', `/api/oauth/token`, id, `client_id=client-${id}&grant_type=grant-${id}`),
    (id) => request('GET', `/pub/${id}%zz`, id),
  ])
})

t.test('1,000 different requests add no series to the authorization server', async (t) => {
  const windowMs = 600_000
  const server = await startServer(t, {
    // Clients that reach a limit get another error code.
    authorization: {
      rateLimit: { perAddress: REQUESTS, windowMs },
      pending: { perAddress: REQUESTS, total: REQUESTS },
    },
    registration: {
      loopbackHosts: ['127.0.0.1'],
      bodyLimitBytes: 16_384,
      documentHosts: [],
      unusedClientSeconds: 604_800,
      rateLimit: { perAddress: REQUESTS, windowMs },
    },
  })
  await assertConstantSeries(t, server, [
    (id) => request('GET', `/unknown-${id}?query=${id}`, id),
    (id) => request(`METHOD-${id}`, `/unknown-${id}`, id),
    (id) => request(otherMethod(id), `/unknown-${id}`, id),
    (id) => request('POST', `/unknown-${id}`, id),
    (id) => request('DELETE', `${ENDPOINTS.token}?query=${id}`, id),
    (id) => request('POST', ENDPOINTS.token, id, `grant_type=grant-${id}&client_id=client-${id}`),
    (id) => request('POST', ENDPOINTS.token, id, `grant_type=refresh_token&refresh_token=token-${id}`),
    (id) => request('POST', ENDPOINTS.introspection, id, `token=token-${id}`),
    (id) => request('POST', ENDPOINTS.revocation, id, `token=token-${id}`),
    (id) => request('GET', `${ENDPOINTS.authorization}?client_id=client-${id}&response_type=code`, id),
    (id) => request('GET', `/oauth/interaction/${id}/sign-in`, id),
    (id) => request('GET', ENDPOINTS.userinfo, id),
    (id) => request('POST', ENDPOINTS.registration, id, `client_name=client-${id}`),
  ])
})
