import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { MALFORMED_REQUESTS, type MalformedRequest } from '../fixtures/malformed-requests.ts'
import { type Received, sendBytes } from '../fixtures/send-bytes.ts'
import { type StrictUpstream, startStrictUpstream } from '../fixtures/strict-upstream.ts'
import { until } from '../fixtures/until.ts'

/** Header names that the gateway drops from clients or sets itself. */
const OURS = ['host', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-request-id']
const NEVER =
  /^(?:expect|upgrade|http2-settings|keep-alive|te|trailer|x-trailer|x-auth-subject|transfer[_.]encoding|content[_.]length)$/

t.test(
  `${MALFORMED_REQUESTS.length} malformed requests are each rejected or forwarded as one complete request`,
  async (t) => {
    const upstream = await startStrictUpstream()
    const under = await startGatewayUnderTest(t, {
      change: (config) => ({
        ...config,
        upstreams: config.upstreams.map((one) =>
          one.name === 'api' ? { ...one, urls: [upstream.url] } : one,
        ),
      }),
    })
    t.teardown(() => upstream.close())

    let forwarded = 0
    for (const row of MALFORMED_REQUESTS) {
      const before = upstream.requests.length
      const received = await sendBytes(under.gateway.url, row.bytes, { hangsUp: row.hangsUp === true })
      const problem = judge(row, received, upstream, before)
      t.equal(problem, undefined, `class ${row.class}: ${row.what}`)
      forwarded += upstream.requests.length - before
    }

    t.match(
      await under.raw('GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 200 /,
      'the gateway still serves requests',
    )
    await until('no request is in flight', async () => {
      const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
      return /^scopegate_http_requests_in_flight 0$/m.test(metrics)
    })
    await under.gateway.close()
    t.same(upstream.problems, [], 'every byte that was forwarded was well-formed')
    t.equal(upstream.requests.length, forwarded + 1, 'nothing was forwarded late')
    t.notMatch(under.logText(), /request_failed|"http.response.status_code":500/, 'nothing broke')
    t.ok(MALFORMED_REQUESTS.length >= 300)
    t.equal(
      new Set(MALFORMED_REQUESTS.map((row) => row.bytes)).size,
      MALFORMED_REQUESTS.length,
      'each row is unique',
    )
    t.comment(
      `${MALFORMED_REQUESTS.length} rows: ${MALFORMED_REQUESTS.length - forwarded} rejected, ${forwarded} forwarded once, ${upstream.cutOff} cut off at the upstream`,
    )
  },
)

/** Returns a description of the problem. Returns undefined if the outcome is as expected. */
function judge(
  row: MalformedRequest,
  received: Received,
  upstream: StrictUpstream,
  before: number,
): string | undefined {
  const seen = upstream.requests.slice(before)
  const { statuses } = received
  const told = `${JSON.stringify(statuses)} ${JSON.stringify(seen)}`
  if (row.expect === 'rejected') {
    if (seen.length > 0) return `forwarded: ${told}`
    const good =
      statuses.length <= 1 && statuses.every((status) => status >= 400 && status !== 500 && status < 502)
    return good ? undefined : `not one rejection: ${told}`
  }
  const [request] = seen
  if (request === undefined || seen.length > 1) return `not forwarded once: ${told}`
  if (statuses.length !== 1 || statuses[0] !== 200) return `not answered once: ${told}`
  if (request.target !== row.expect.target || request.body !== row.expect.body)
    return `another request: ${told}`
  const names = request.headers.map(([name]) => name)
  const twice = OURS.find((name) => names.filter((one) => one === name).length > 1)
  if (twice !== undefined) return `${twice} twice: ${told}`
  const foreign = names.find((name) => NEVER.test(name))
  return foreign === undefined ? undefined : `${foreign} was passed on: ${told}`
}
