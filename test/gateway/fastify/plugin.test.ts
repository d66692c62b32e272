import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t from 'tap'
import scopegate from '../../../gateway/fastify/plugin.ts'
import { RICHER_POLICY, startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { startFastifyService } from '../../fixtures/a-fastify-service.ts'
import { POLICY } from '../../fixtures/a-gateway.ts'
import {
  type Case,
  everySpelling,
  protectedPolicy,
  ROUTES,
  sendAll,
  TOKEN,
} from '../../fixtures/protected-paths.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import type { StrictRequest } from '../../fixtures/strict-upstream.ts'
import { testEnforcement } from '../../fixtures/test-enforcement.ts'
import { until } from '../../fixtures/until.ts'

/** Adds a handler for each path, which records the request as the handler receives it. */
function recordRequests(app: FastifyInstance, requests: StrictRequest[]): void {
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.all('/*', async ({ method, url, headers, body }) => {
    const list = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
    requests.push({ method, target: url, headers: list, body: String(body ?? '') })
    return 'taken'
  })
}

testEnforcement({
  name: 'a Fastify service',
  hasHeaderPatterns: true,
  async start(t, options) {
    const { gateway, policy, issuer } = await startDecisionEndpoint(t, 'forward-auth', {
      policy: options?.policy,
    })
    const requests: StrictRequest[] = []
    const { url } = await startFastifyService(t, {
      issuer,
      policy,
      routes: (app) => recordRequests(app, requests),
    })
    const seen = (name: string): readonly string[] =>
      (requests.at(-1)?.headers ?? []).filter(([one]) => one === name).map(([, value]) => value)
    return { url, gateway, issuer, upstream: { requests, seen } }
  },
})

t.test('a handler gets the decision, and clients get the response headers of the gateway', async (t) => {
  const { url, issuer } = await startFastifyService(t, {
    routes: (app) => {
      app.get('/api/courses', async (request) => request.scopegate)
      app.get('/pub/host', async (request) => ({ host: request.headers.host }))
      app.get('/pub/cookies', async (request, reply) =>
        reply
          .header('set-cookie', ['a=1', 'b=2'])
          .header('x-auth-subject', 'root')
          .header('access-control-allow-origin', 'http://evil.test')
          .send({ caller: request.scopegate?.caller ?? 'none' }),
      )
    },
  })
  issuer.store('good', { sub: 'user-1', client_id: 'client-1', scope: 'courses:read' })
  const allowed = await send(`${url}/api/courses`, { token: 'good' })
  t.equal(allowed.status, 200)
  t.match(allowed.json, {
    route: 'test/list-courses',
    clientAddress: '127.0.0.1',
    scopes: ['courses:read'],
    caller: { subject: 'user-1', clientId: 'client-1', claims: {} },
  })
  t.equal(allowed.headers.get('x-request-id'), allowed.json['requestId'])

  const { json } = await send(`${url}/pub/host`, { headers: { 'x-name': 'host' } })
  t.same(json, { host: new URL(url).host }, 'a value that is the name of a header replaces no header')

  const anonymous = await send(`${url}/pub/cookies`)
  t.same(anonymous.json, { caller: 'none' })
  t.same(anonymous.headers.getSetCookie(), ['a=1', 'b=2'])
  t.equal(anonymous.headers.get('x-auth-subject'), null)
  t.equal(anonymous.headers.get('access-control-allow-origin'), '*')
})

t.test(
  'a path that Fastify does not know gets the 404 response of the plugin or of the service',
  async (t) => {
    const { url } = await startFastifyService(t, {
      routes: (app) => app.get('/api/courses', async () => 'x'),
    })
    const unknown = await send(`${url}/nothing`)
    t.equal(unknown.status, 404)
    t.equal(unknown.json['error'], 'not_found')
    t.equal(unknown.headers.get('x-scopegate-error'), '1')
    const withoutHandler = await send(`${url}/pub/x`)
    t.equal(withoutHandler.status, 404)
    t.equal(withoutHandler.headers.get('x-scopegate-error'), null)
  },
)

/** All options with which the router of Fastify reads a path in another way than the policies. */
const LAX: FastifyServerOptions = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  useSemicolonDelimiter: true,
}
t.test('a lax router gives no access to a protected handler while /** is open', async (t) => {
  const reached: { readonly index: number; readonly handler: string }[] = []
  const { url, issuer } = await startFastifyService(t, {
    policy: protectedPolicy('/**'),
    fastify: LAX,
    routes: (app) => {
      for (const pattern of ['/*', ...ROUTES.map(toPattern)])
        app.route({
          method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
          url: pattern,
          async handler(request) {
            reached.push({ index: Number(request.headers['x-case']), handler: pattern })
            return 'taken'
          },
        })
    },
  })
  issuer.store(TOKEN, { scope: 'orders:read' })
  const cases = everySpelling()
  await sendAll(url, cases)
  const isGuarded = ({ index, handler }: (typeof reached)[number]): boolean => {
    const { method, hasToken } = cases[index] as Case
    const methods = ROUTES.find((route) => toPattern(route) === handler)?.methods ?? []
    return !hasToken && methods.includes(method === 'HEAD' ? 'GET' : method)
  }
  t.same(
    reached.filter(isGuarded).map(({ index, handler }) => `${cases[index]?.target} reached ${handler}`),
    [],
  )
  t.ok(reached.filter(({ handler }) => handler === '/*').length > 100)
  t.ok(reached.filter(({ handler }) => handler !== '/*').length > 50)
})

/** Returns the pattern of Fastify for the same paths. */
function toPattern({ template }: { readonly template: string }): string {
  return decodeURI(template)
    .replace('/**', '/*')
    .replace(/\{(\w+)\}/g, ':$1')
}

t.test('a revoked token is rejected, and a reload changes the policies', async (t) => {
  const { url, app, issuer } = await startFastifyService(t, {
    routes: (app) => app.get('/api/courses', async () => 'taken'),
  })
  issuer.store('good', { scope: 'courses:read' })
  await issuer.subscribed()
  t.equal((await send(`${url}/api/courses`, { token: 'good' })).status, 200)
  t.equal((await send(`${url}/api/courses`, { token: 'good' })).status, 200)
  t.equal(issuer.asked.length, 1, 'the second request used the cache')
  issuer.revoke('good')
  const revoked = await until('the revocation arrives', async () => {
    const response = await send(`${url}/api/courses`, { token: 'good' })
    return response.status === 401 ? response : undefined
  })
  t.match(revoked.headers.get('www-authenticate'), /error="invalid_token"/)
  t.equal(await app.scopegate.reload(), 'unchanged')
  t.match(await app.scopegate.metrics(), /scopegate_http_requests_total\{[^}]*list-courses/)
})

t.test(
  'a route that needs the proxy is unknown, and a handler gets canonical paths and edited headers',
  async (t) => {
    const { url, app, issuer } = await startFastifyService(t, {
      policy: RICHER_POLICY,
      routes: (app) =>
        app.get('/*', async ({ headers, url }) => ({ url, debug: headers['x-debug'] ?? 'removed' })),
    })
    issuer.store('good', { scope: 'courses:read' })
    for (const path of ['/api/moved', '/api/socket', '/api/oauth/token']) {
      const method = path === '/api/oauth/token' ? 'POST' : 'GET'
      const unknown = await send(`${url}${path}`, { token: 'good', method })
      t.equal(unknown.status, 404, path)
      t.equal(unknown.json['error'], 'not_found', path)
      t.equal(unknown.headers.get('x-scopegate-error'), '1', path)
    }
    const edited = await send(`${url}/%61pi/edited?a=%61`, { headers: { 'x-debug': '1' } })
    t.equal(edited.status, 200)
    t.same(edited.json, { url: '/api/edited?a=%61', debug: 'removed' }, 'the canonical path')
    const injected = await app.inject({ url: '/api/courses', headers: { authorization: 'Bearer unknown' } })
    t.equal(injected.statusCode, 401)
    t.match(injected.headers['www-authenticate'], /error="invalid_token"/)
  },
)

t.test('the plugin rejects a WebSocket handshake if the service has WebSockets', async (t) => {
  let upgraded = 0
  const { url, app } = await startFastifyService(t, {
    routes: (app) => app.get('/pub/x', async () => 'taken'),
  })
  const handshake =
    'GET /pub/x HTTP/1.1\r\nHost: api.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n'
  t.same((await sendBytes(url, handshake)).statuses, [200], 'Node.js ignores the header')
  // @fastify/websocket routes the handshake in the same way, and does not close the connection after a denial.
  app.server.on('upgrade', (request, socket) => {
    upgraded += 1
    const response = new ServerResponse(request)
    response.assignSocket(socket as Socket)
    app.routing(request, response)
  })
  const denied = await sendBytes(url, handshake)
  t.same(denied.statuses, [400], 'the plugin closes the connection')
  t.match(denied.text, /^connection: close\r$/im)
  t.equal(upgraded, 1)
})

t.test('the plugin rejects an invalid configuration with the messages of scopegate check', async (t) => {
  const configDir = t.testdir({ 'gateway.yaml': 'baseurl: http://a\n' })
  for (const [options, message] of [
    [{ configDir }, /error\[C103\].*gateway\.yaml:1/s],
    [{ configDir, settings: { baseUrl: 'nothing' } }, /error\[C\d+\].*options\.settings:2:/s],
  ] as const) {
    const app = Fastify()
    await t.rejects(Promise.resolve(app.register(scopegate, options)), { message })
    await app.close()
  }
})

t.test('a response with the header Transfer-Encoding keeps its end', async (t) => {
  const { url } = await startFastifyService(t, {
    routes: (app) => {
      app.get('/pub/reply', async (_request, reply) =>
        reply.header('transfer-encoding', 'chunked').send(Readable.from(['a', 'b'])),
      )
      app.get('/pub/raw', async (_request, reply) => {
        reply.raw.setHeader('transfer-encoding', 'chunked')
        return reply.send(Readable.from(['a', 'b']))
      })
    },
  })
  for (const path of ['/pub/reply', '/pub/raw']) {
    const first = `GET ${path} HTTP/1.1\r\nHost: api.test\r\n\r\n`
    const { text, statuses } = await sendBytes(url, `${first}${first.trim()}\r\nConnection: close\r\n\r\n`)
    t.same(statuses, [200, 200], path)
    t.equal(text.match(/\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n/g)?.length, 2, path)
    t.equal(text.match(/transfer-encoding: chunked/gi)?.length, 2, path)
  }
})

t.test('the rules for response headers apply to a Response of the Fetch API', async (t) => {
  const { url } = await startFastifyService(t, {
    policy: POLICY.replace(
      'anonymous: allow',
      'anonymous: allow, headers: { response: { remove: [X-Debug] } }',
    ),
    routes: (app) => {
      const headers = [
        ['x-debug', 'internal'],
        ['x-request-id', 'of-the-service'],
        ['access-control-allow-origin', 'https://evil.test'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ] as [string, string][]
      app.get('/pub/body', async () => new Response('text', { status: 201, headers }))
      app.get('/pub/empty', async () => new Response(null, { status: 204, headers }))
      app.get('/pub/used', async () => {
        const response = new Response('text', { headers })
        const reader = response.body?.getReader()
        await reader?.read()
        reader?.releaseLock()
        return response
      })
    },
  })
  for (const [path, status, text] of [
    ['/pub/body', 201, 'text'],
    ['/pub/empty', 204, ''],
  ] as const) {
    const response = await send(url + path)
    t.equal(response.status, status)
    t.equal(response.text, text)
    t.equal(response.headers.get('x-debug'), null)
    t.not(response.headers.get('x-request-id'), 'of-the-service')
    t.equal(response.headers.get('access-control-allow-origin'), '*')
    t.same(response.headers.getSetCookie(), ['a=1', 'b=2'])
  }
  const used = await send(`${url}/pub/used`)
  t.equal(used.status, 500)
  t.equal(used.headers.get('x-debug'), null)
})

t.test('the plugin names a missing option', async (t) => {
  const app = Fastify()
  const options = {} as { readonly configDir: string }
  await t.rejects(Promise.resolve(app.register(scopegate, options)), {
    message: 'scopegate/fastify: set the option configDir to the folder with gateway.yaml.',
  })
})

t.test('the plugin rejects an instance that does not receive all requests of HTTP/1.1', async (t) => {
  const app = Fastify()
  app.register(async (child) => {
    await child.register(scopegate, { configDir: 'config' })
  })
  await t.rejects(Promise.resolve(app.ready()), /register the plugin on the root instance/)
  const http2 = Fastify({ http2: true }) as unknown as FastifyInstance
  await t.rejects(
    Promise.resolve(http2.register(scopegate, { configDir: 'config' })),
    /Remove the option http2/,
  )
})

t.test('the plugin rejects a second registration', async (t) => {
  const service = startFastifyService(t, {
    routes: (app) => app.register(scopegate, { configDir: 'config' }),
  })
  await t.rejects(service, /already registered/)
})

t.test('with `decisions`, the plugin decides on routes of policies without an upstream', async (t) => {
  const { url, issuer } = await startFastifyService(t, {
    policy: `apiVersion: scopegate/v1
kind: Policy
name: local
routes:
  - { name: courses, match: { methods: [GET], path: /api/courses }, anonymous: challenge, scopes: { all: [courses:read] } }
`,
    settings: {
      trustedProxies: ['127.0.0.1'],
      decisions: { listen: { host: '127.0.0.1', port: 0 }, protocol: 'forward-auth' },
    },
    routes: (app) => app.get('/api/courses', async (request) => request.scopegate?.route),
  })
  issuer.store('good', { sub: 'user-1', client_id: 'client-1', scope: 'courses:read' })
  const allowed = await send(`${url}/api/courses`, { token: 'good' })
  t.equal(allowed.status, 200)
  t.equal(allowed.text, 'local/courses')
  const denied = await send(`${url}/api/courses`)
  t.equal(denied.status, 401)
  t.match(denied.headers.get('www-authenticate'), /scope="courses:read"/)
  const forged = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/api/courses' }
  t.equal((await send(`${url}/api/other`, { token: 'good', headers: forged })).status, 404)
})
