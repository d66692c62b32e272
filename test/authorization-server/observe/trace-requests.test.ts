import t from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
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
