import t from 'tap'
import { type GatewayUnderTest, pushing, startGatewayUnderTest } from '../../../fixtures/a-gateway.ts'
import { send } from '../../../fixtures/send.ts'
import { until } from '../../../fixtures/until.ts'

const OTHER_ISSUER = 'https://login.example'

const call = (under: GatewayUnderTest, token: string) => send(`${under.gateway.url}/api/courses`, { token })

t.test('the issuer at the base URL gets the ID of the request that needs the token status', async (t) => {
  const under = await startGatewayUnderTest(t)
  const answer = await call(under, under.issuer.store('a-good-token', { scope: 'courses:read' }))
  t.equal(answer.status, 200)
  t.strictSame(under.issuer.requestIds, [answer.headers.get('x-request-id')])
})

t.test(
  'concurrent requests with one token share one call, which has the ID of the first request',
  async (t) => {
    const under = await startGatewayUnderTest(t)
    let respond: (() => void) | undefined
    under.issuer.answerWith((response) => {
      respond = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}')
    })
    const first = call(under, 'a-shared-token')
    await until('the call to the issuer', async () => respond !== undefined)
    const second = call(under, 'a-shared-token')
    await until('the second request', async () =>
      /^scopegate_http_requests_in_flight 2$/m.test(await metricsOf(under)),
    )
    respond?.()
    const answers = [await first, await second]
    t.strictSame(
      answers.map(({ status }) => status),
      [401, 401],
    )
    t.strictSame(under.issuer.requestIds, [answers[0]?.headers.get('x-request-id')])
  },
)

t.test('another issuer gets no request ID, unless it publishes the revocations of Scopegate', async (t) => {
  for (const isScopegate of [false, true]) {
    const under = await startGatewayUnderTest(t, {
      change: (config) => ({
        ...config,
        issuers: config.issuers.map((issuer) => ({
          ...(isScopegate ? pushing(issuer) : issuer),
          issuer: OTHER_ISSUER,
        })),
      }),
    })
    const token = under.issuer.store('a-token', { scope: 'courses:read', iss: OTHER_ISSUER })
    const answer = await call(under, token)
    t.equal(answer.status, 200)
    t.strictSame(under.issuer.requestIds, [isScopegate ? answer.headers.get('x-request-id') : undefined])
  }
})

t.test('a failed introspection has the request ID in its log line', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.answerWith((response) => response.writeHead(500).end())
  const answer = await call(under, 'a-token-during-an-outage')
  t.equal(answer.status, 503)
  t.match(
    under.log().filter(({ event }) => event === 'introspection_failed'),
    [{ request_id: answer.headers.get('x-request-id'), err: { code: 'ERR_INTROSPECTION_STATUS' } }],
  )
})

async function metricsOf({ gateway }: GatewayUnderTest): Promise<string> {
  return (await send(`${gateway.managementUrl}/metrics`)).text
}
