import { hasSubscribers } from 'node:diagnostics_channel'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { startFastifyService } from '../../fixtures/a-fastify-service.ts'
import { BASE_URL, POLICY, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../../fixtures/a-jwt-issuer.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { send } from '../../fixtures/send.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { startScopegate } from '../../fixtures/start-scopegate.ts'
import { startTraceReceiver, type TraceReceiver } from '../../fixtures/trace-receiver.ts'
import { until } from '../../fixtures/until.ts'

const TOKEN = 'token-that-no-span-contains'
const CLIENT_TRACE = '0af7651916cd43dd8448eb211c80319c'
const CLIENT_SPAN = 'b7ad6b7169203331'
const TRACEPARENT = `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01`

function spanNamed(receiver: TraceReceiver, name: string) {
  return until(`the span ${name}`, async () => receiver.spans().find((span) => span.name === name))
}

t.test('a forwarded request has a server span, an introspection span and an upstream span', async (t) => {
  const receiver = await startTraceReceiver(t)
  const { gateway, issuer, upstream, log } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, tracing: { endpoint: receiver.url } }),
  })
  issuer.store(TOKEN, { scope: 'courses:read', client_id: 'app', sub: 'user-1' })
  const sentMs = Date.now()
  const { status } = await send(`${gateway.url}/api/courses/7?secret=in-the-query`, {
    headers: {
      authorization: `Bearer ${TOKEN}`,
      traceparent: TRACEPARENT,
      tracestate: 'vendor=of-the-client',
    },
  })
  t.equal(status, 200)

  const server = await spanNamed(receiver, 'GET /api/courses/{id}')
  t.equal(server.kind, 2)
  t.equal(server.parentSpanId, '', 'the peer is not a trusted proxy')
  t.not(server.traceId, CLIENT_TRACE, 'the gateway starts a new trace')
  t.match(server.attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.route': '/api/courses/{id}',
    'url.path': '/api/courses/7',
    'scopegate.route': 'test/read-course',
    'scopegate.policy': 'test',
    'scopegate.decision': 'allow',
    'scopegate.reason': 'ok',
    'scopegate.token.kind': 'opaque',
  })
  const introspection = await spanNamed(receiver, 'POST introspection')
  const client = await spanNamed(receiver, 'GET api')
  for (const span of [introspection, client])
    t.match(span, { kind: 3, traceId: server.traceId, parentSpanId: server.spanId, hasError: false })
  for (const { startMs, endMs } of [server, introspection, client])
    t.ok(
      sentMs <= startMs && startMs <= endMs && endMs <= Date.now() + 1,
      'the times are times of the request',
    )
  t.match(client.attributes, { 'scopegate.upstream': 'api', 'http.response.status_code': 200 })
  t.strictSame(upstream.seen('traceparent'), [`00-${server.traceId}-${client.spanId}-01`])
  t.strictSame(upstream.seen('tracestate'), [], 'the gateway drops the state of an untrusted trace')

  const line = await until('the access line', async () => log().find(({ event }) => event === 'access'))
  t.match(line, { trace_id: server.traceId, span_id: server.spanId })
  t.equal(server.attributes['scopegate.request_id'], line['request_id'])

  const bytes = receiver.bytes()
  t.notOk(bytes.includes(TOKEN), 'no span contains the token')
  t.notOk(bytes.includes('in-the-query'), 'no span contains the query')
  t.ok(bytes.includes('scopegate-gateway'), 'the resource contains the name of the service')
})

t.test('the span of a request with another method has the method _OTHER and the name HTTP', async (t) => {
  const receiver = await startTraceReceiver(t)
  const { raw } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, tracing: { endpoint: receiver.url } }),
  })
  const answer = await raw('PROPFIND /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.match(answer, /^HTTP\/1\.1 405 /)
  const { attributes } = await spanNamed(receiver, 'HTTP')
  t.match(attributes, {
    'http.request.method': '_OTHER',
    'http.request.method_original': 'PROPFIND',
    'http.response.status_code': 405,
  })
})

t.test('a gateway that trusts its peers continues their trace', async (t) => {
  const receiver = await startTraceReceiver(t)
  const { gateway, upstream } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, tracing: { endpoint: receiver.url, trustIncoming: 'always' } }),
  })
  await send(`${gateway.url}/pub/x`, { headers: { traceparent: TRACEPARENT, tracestate: 'vendor=kept' } })
  const server = await spanNamed(receiver, 'GET /pub/**')
  t.match(server, { traceId: CLIENT_TRACE, parentSpanId: CLIENT_SPAN, traceState: 'vendor=kept' })
  t.match(upstream.seen('traceparent'), [new RegExp(`^00-${CLIENT_TRACE}-[0-9a-f]{16}-01$`)])
  t.notMatch(upstream.seen('traceparent'), [TRACEPARENT])
  t.strictSame(upstream.seen('tracestate'), ['vendor=kept'])

  await send(`${gateway.url}/pub/not-sampled`, { headers: { traceparent: TRACEPARENT.replace(/1$/, '0') } })
  t.match(upstream.seen('traceparent'), [new RegExp(`^00-${CLIENT_TRACE}-[0-9a-f]{16}-00$`)])
  await gateway.close() // exports all spans
  t.notOk(receiver.bytes().includes('not-sampled'), 'the gateway follows the decision of the peer')
})

t.test('a request that is not sampled has no spans, and its trace context says so', async (t) => {
  const receiver = await startTraceReceiver(t)
  const { gateway, upstream, log } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, tracing: { endpoint: receiver.url, sampleRatio: 0 } }),
  })
  const headers = { Traceparent: TRACEPARENT, TRACESTATE: 'vendor=of-the-client' }
  const { status } = await send(`${gateway.url}/pub/x`, { headers })
  t.equal(status, 200)
  const line = await until('the access line', async () => log().find(({ event }) => event === 'access'))
  t.not(line['trace_id'], CLIENT_TRACE, 'the gateway starts a new trace')
  t.strictSame(upstream.seen('traceparent'), [`00-${line['trace_id']}-${line['span_id']}-00`])
  t.strictSame(upstream.seen('tracestate'), [])
  await gateway.close()
  t.strictSame(receiver.spans(), [])
})

t.test('the commands of a request to Redis have client spans, also when they fail', async (t) => {
  const receiver = await startTraceReceiver(t)
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(() => redis.stop())
  const { gateway } = await startGatewayUnderTest(t, {
    policy: `${POLICY}  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 5, per: 1h, by: route } }\n`,
    change: (config) => ({ ...config, redis: { url: redis.url }, tracing: { endpoint: receiver.url } }),
  })
  const admin = new Redis(redis.url)
  t.teardown(() => admin.disconnect())
  t.equal((await send(`${gateway.url}/limited`)).status, 200)
  await admin.call('ACL', 'SETUSER', 'default', '-@scripting')
  t.equal((await send(`${gateway.url}/limited`)).status, 200, 'the gateway counts alone')
  await gateway.close() // exports all spans
  t.notOk(hasSubscribers('tracing:ioredis:command:start'), 'a closed gateway observes no commands')
  const spans = receiver.spans()
  const common = { 'db.system.name': 'redis', 'server.address': '127.0.0.1', 'server.port': redis.port }
  for (const [command, failure] of [
    ['EVAL', {}],
    ['EVALSHA', { 'error.type': 'ReplyError' }],
  ] as const) {
    const span = spans.find(({ name }) => name === `${command} redis`)
    const parent = spans.find(({ spanId }) => spanId === span?.parentSpanId)
    t.match(parent, { kind: 2, name: 'GET /limited', traceId: span?.traceId })
    t.match(span, { kind: 3, hasError: command === 'EVALSHA' })
    t.strictSame(span?.attributes, { ...common, 'db.operation.name': command, ...failure })
  }
  t.notOk(receiver.bytes().includes('scopegate:rate'), 'no span contains a key')
})

t.test('the commands of a limit, a proof and an event are below their request', async (t) => {
  const receiver = await startTraceReceiver(t)
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(() => redis.stop())
  const sender = await startJwtIssuer()
  t.teardown(() => sender.close())
  const { gateway, issuer } = await startGatewayUnderTest(t, {
    policy: `${POLICY}  - { name: shared, match: { methods: [GET], path: /shared }, sharedLimits: [all] }\n`,
    change(config) {
      const folder = join(config.policiesDir, '.config')
      mkdirSync(folder)
      const limits = 'sharedLimits: { all: { requests: 5, per: 1h, key: address } }\n'
      writeFileSync(join(folder, 'presets.yaml'), limits)
      const events = { ...aJwtIssuerConfig(sender.issuer), securityEvents: { audience: [BASE_URL] } }
      return {
        ...config,
        presetsFile: join(folder, 'presets.yaml'),
        redis: { url: redis.url },
        issuers: [...config.issuers, events],
        tracing: { endpoint: receiver.url },
      }
    },
  })
  t.equal((await send(`${gateway.url}/shared`)).status, 200)
  const key = aProofKey()
  issuer.store(TOKEN, { scope: 'courses:read', client_id: 'app', cnf: { jkt: key.thumbprint } })
  for (const path of ['/api/courses', '/api/courses/7']) {
    const dpop = aProof({ key, url: BASE_URL + path, token: TOKEN })
    const { status } = await send(gateway.url + path, { headers: { authorization: `DPoP ${TOKEN}`, dpop } })
    t.equal(status, 200, path)
  }
  const event = sender.sign(
    {
      ...{ client_id: undefined, sub: undefined, exp: undefined, aud: BASE_URL, jti: 'event-1' },
      sub_id: { format: 'iss_sub', iss: sender.issuer, sub: 'user-1' },
      events: { 'https://schemas.openid.net/secevent/caep/event-type/session-revoked': {} },
    },
    { typ: 'secevent+jwt' },
  )
  const received = await send(`${gateway.url}/.well-known/scopegate/security-events`, {
    body: event,
    headers: { 'content-type': 'application/secevent+jwt' },
  })
  t.equal(received.status, 202)
  await gateway.close() // exports all spans
  const spans = receiver.spans()
  const commandsOf = (name: string) => {
    const request = spans.find((span) => span.kind === 2 && span.name === name)
    const below = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId)
    return below.flatMap(({ attributes }) => attributes['db.operation.name'] ?? [])
  }
  t.strictSame(commandsOf('GET /shared'), ['EVAL'])
  t.strictSame(commandsOf('GET /api/courses/{id}'), ['SET'], 'the token is in the cache')
  t.strictSame(commandsOf('POST /.well-known/scopegate/security-events'), ['EVALSHA', 'EVAL'])
})

t.test('the commands of a handler of the Fastify plugin are below the request', async (t) => {
  const receiver = await startTraceReceiver(t)
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(() => redis.stop())
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  const { app, url, issuer } = await startFastifyService(t, {
    settings: { tracing: { endpoint: receiver.url } },
    routes: (app) => app.get('/api/courses', async () => client.get('course')),
  })
  issuer.store(TOKEN, { scope: 'courses:read', client_id: 'app' })
  const headers = { authorization: `Bearer ${TOKEN}` }
  for (const _ of ['at the issuer', 'in the cache']) await send(`${url}/api/courses`, { headers })
  await app.close() // exports all spans
  const spans = receiver.spans()
  const requests = spans.filter(({ kind }) => kind === 2)
  t.strictSame(
    requests.map(({ spanId }) => spans.flatMap((span) => (span.parentSpanId === spanId ? span.name : []))),
    [['POST introspection', 'GET redis'], ['GET redis']],
  )
})

t.test('a denied request has a server span without an upstream span', async (t) => {
  const receiver = await startTraceReceiver(t)
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, tracing: { endpoint: receiver.url } }),
  })
  const { status } = await send(`${gateway.url}/api/denied`)
  const server = await spanNamed(receiver, 'GET /api/denied')
  t.match(server.attributes, {
    'http.response.status_code': status,
    'scopegate.decision': 'deny',
    'scopegate.reason': 'anonymous',
    'error.type': 'token_missing',
  })
  t.equal(receiver.spans().length, 1)
})

t.test('without a receiver, the gateway forwards the trace context of the client unchanged', async (t) => {
  const { gateway, upstream, log } = await startGatewayUnderTest(t)
  await send(`${gateway.url}/pub/x`, { headers: { traceparent: TRACEPARENT } })
  t.strictSame(upstream.seen('traceparent'), [TRACEPARENT])
  const line = await until('the access line', async () => log().find(({ event }) => event === 'access'))
  t.notOk('trace_id' in line)
})

for (const status of ['never', 503] as const)
  t.test(`requests succeed and the shutdown ends while the receiver responds ${status}`, async (t) => {
    const receiver = await startTraceReceiver(t, { status })
    const { gateway } = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, tracing: { endpoint: receiver.url } }),
    })
    for (let sent = 0; sent < 3; sent += 1) t.equal((await send(`${gateway.url}/pub/x`)).status, 200)
    await until('an export', async () => receiver.bytes().length > 0)
    await gateway.close()
    t.pass('the gateway closed')
  })

t.test('both processes record one trace, with the receiver from the environment', async (t) => {
  const receiver = await startTraceReceiver(t)
  const { baseUrl } = await startScopegate(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } })
  await send(`${baseUrl}/.well-known/oauth-authorization-server`)
  const inner = await spanNamed(receiver, 'GET discovery')
  const client = await until('the upstream span', async () =>
    receiver.spans().find(({ spanId }) => spanId === inner.parentSpanId),
  )
  const outer = await until('the span of the gateway', async () =>
    receiver.spans().find(({ spanId }) => spanId === client.parentSpanId),
  )
  t.match([inner, client, outer], [{ kind: 2 }, { kind: 3 }, { kind: 2, parentSpanId: '' }])
  t.equal(inner.traceId, outer.traceId)
})
