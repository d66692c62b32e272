import { connect } from 'node:net'
import t from 'tap'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

const head = (target: string, more = ''): string =>
  `${target} HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n${more}\r\n`
const good = 'Authorization: Bearer good\r\n'

t.test('each request adds exactly one access line and one metric count, with any outcome', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.store('good', { scope: 'courses:read' })
  const requests = [
    head('GET /api/courses', good),
    head('GET /api/courses'),
    head('GET /api/denied'),
    head('GET /api/challenged'),
    head('DELETE /api/courses/1', good),
    head('GET /api/courses', 'Authorization: Bearer bad\r\n'),
    head('GET /api/courses?access_token=good'),
    head('GET /nothing/here'),
    head('POST /api/denied'),
    head('OPTIONS /api/courses'),
    head('GET /'),
    head('GET /api/../courses'),
    head('GET /api/%0d%0a{"event":"access"}'),
    head('GET /pub/%1b%5b2J'),
    head('GET /pub/x', 'User-Agent: \u0080\u009b2J"}\\n{"event":"access"}\r\n'),
    head('GET /pub/x', 'X-Request-Id: "}{"event":"access\r\n'),
    head('POST /api/small', 'Content-Length: 17\r\n'),
    head('GET /api/impatient'),
    // A complete head with a truncated body.
    `${head('POST /pub/x', 'Transfer-Encoding: chunked\r\n')}nonsense\r\n`,
    // Bytes that are not a request.
    'NONSENSE\r\n\r\n',
    head('CONNECT api.test:443'),
    head('GET /pub/x', 'X-A : b\r\n'),
    head('GET /pub/x', `X-A: ${'x'.repeat(20_000)}\r\n`),
  ]
  const rounds = 5
  for (let round = 0; round < rounds; round++) for (const bytes of requests) await under.raw(bytes)
  for (let i = 0; i < 3; i++) await leaveEarly(under)

  const sent = requests.length * rounds + 3
  const lines = await until('all lines', async () => {
    const found = under.log().filter((line) => line['event'] === 'access')
    return found.length >= sent ? found : undefined
  })
  t.equal(lines.length, sent)
  t.equal(new Set(lines.map((line) => line['request_id'])).size, sent, 'each has its own id')
  const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  t.equal(sumOf(metrics, 'scopegate_http_requests_total'), sent)
  t.equal(
    sumOf(metrics, 'scopegate_auth_decisions_total'),
    lines.filter((line) => line['auth.decision'] !== undefined).length,
  )
  const unread = lines.filter((line) => line['http.request.method'] === undefined)
  t.equal(unread.length, 4 * rounds)
  t.same(
    unread.slice(0, 4).map((line) => [line['http.response.status_code'], line['error.type']]),
    [400, 400, 400, 431].map((status) => [
      status,
      status === 431 ? 'headers_too_large' : 'request_malformed',
    ]),
  )
  t.notMatch(under.logText(), /[^\n\x20-\x7e\u00a0-\uffff]/, 'no control character is in the log')
})

/** Sends a request, and disconnects when the upstream has received it. */
async function leaveEarly({ gateway, upstream }: GatewayUnderTest): Promise<void> {
  const there = new Promise<void>((resolve) => upstream.onHead(() => resolve()))
  const client = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  client.on('error', () => undefined)
  client.write(head('GET /pub/slow'))
  await there
  client.destroy()
}

function sumOf(metrics: string, name: string): number {
  return metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
