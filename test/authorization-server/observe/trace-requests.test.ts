import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { startTraceReceiver } from '../../fixtures/trace-receiver.ts'
import { until } from '../../fixtures/until.ts'

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }

for (const trustIncoming of ['always', 'never'] as const)
  t.test(`a registration has a server span with trustIncoming ${trustIncoming}`, async (t) => {
    const receiver = await startTraceReceiver(t)
    const server = await startServer(t, { tracing: { endpoint: receiver.url, trustIncoming } })
    const { status } = await send(`${server.baseUrl}${ENDPOINTS.registration}`, {
      headers: { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` },
      json: { redirect_uris: ['http://127.0.0.1:7777/callback'], token_endpoint_auth_method: 'none' },
    })
    t.equal(status, 201)
    const span = await until('the span', async () =>
      receiver.spans().find(({ name }) => name === 'POST registration'),
    )
    t.match(span, {
      kind: 2,
      attributes: { 'http.response.status_code': 201, 'scopegate.endpoint': 'registration' },
    })
    if (trustIncoming === 'always') t.match(span, { traceId: CALLER.traceId, parentSpanId: CALLER.spanId })
    else {
      t.not(span.traceId, CALLER.traceId)
      t.equal(span.parentSpanId, '')
    }
    const audit = server.log().find(({ action }) => action === 'client_registered')
    t.match(audit, { trace_id: span.traceId, span_id: span.spanId })
  })

t.test('the span of a request with another method has the method _OTHER and the name HTTP', async (t) => {
  const receiver = await startTraceReceiver(t)
  const server = await startServer(t, { tracing: { endpoint: receiver.url } })
  const { text } = await sendBytes(
    server.baseUrl,
    'PROPFIND / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  )
  t.match(text, /^HTTP\/1\.1 4/)
  const span = await until('the span', async () => receiver.spans()[0])
  t.match(span, {
    name: 'HTTP -',
    attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' },
  })
})

/** Starts a store, and returns its configuration, its port, and text that occurs in each of its commands. */
const STORES = {
  redis: async (t: Test) => {
    const redis = await startRedis({ folder: t.testdir() })
    t.teardown(() => redis.stop())
    const config = { store: { type: 'redis' }, redis: { url: redis.url } } as const
    return { config, port: redis.port, content: '{scopegate}' }
  },
  postgresql: async (t: Test) => {
    const postgres = await startPostgres()
    t.teardown(() => postgres.remove())
    const config = { store: { type: 'postgres' }, postgres: postgres.connection } as const
    return { config, port: postgres.port, content: 'scopegate.artifacts' }
  },
}

for (const [system, start] of Object.entries(STORES))
  t.test(`the commands of a registration to ${system} have client spans`, async (t) => {
    const receiver = await startTraceReceiver(t)
    const { config, port, content } = await start(t)
    const server = await startServer(t, { ...config, tracing: { endpoint: receiver.url } })
    const { status } = await send(`${server.baseUrl}${ENDPOINTS.registration}`, {
      json: { redirect_uris: ['http://127.0.0.1:7777/callback'], token_endpoint_auth_method: 'none' },
    })
    t.equal(status, 201)
    await server.stop() // exports all spans
    const spans = receiver.spans()
    const request = spans.find(({ name }) => name === 'POST registration')
    const commands = spans.filter((span) => span !== request)
    t.ok(commands.length > 0, 'the registration writes to the store')
    for (const { kind, name, traceId, parentSpanId, attributes } of commands) {
      const operation = attributes['db.operation.name']
      t.match(
        { kind, traceId, parentSpanId },
        { kind: 3, traceId: request?.traceId, parentSpanId: request?.spanId },
      )
      t.equal(name, `${operation} ${system}`)
      t.match(operation, /^[A-Z]+$/)
      t.strictSame(attributes, {
        'db.system.name': system,
        'db.operation.name': operation,
        'server.address': '127.0.0.1',
        'server.port': port,
      })
    }
    t.notOk(receiver.bytes().includes(content), 'no span contains a key or a statement')
  })
