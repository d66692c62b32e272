import t from 'tap'
import { pushing, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const REQUESTS = 200

type Line = Readonly<Record<string, unknown>>

/** Returns the number of failures in log lines. A line reports one failure, or contains a count. */
function failuresIn(lines: readonly Line[]): number {
  return lines.reduce((sum, { count }) => sum + (typeof count === 'number' ? count : 1), 0)
}

// Before the fix, an outage of one hour wrote 34 MB of log. Each request caused an `introspection_failed` line of 1.2
// kB with a stack trace.
t.test('an outage of the issuer writes one line for each error code, not for each request', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { url, managementUrl } = under.gateway
  const lines = (event: string): readonly Line[] => under.log().filter((line) => line['event'] === event)
  under.issuer.answerWith((response) => response.socket?.destroy())

  const ids = new Set<string | null>()
  const statuses = new Set<number>()
  for (let count = 0; count < REQUESTS; count += 1) {
    const answer = await send(`${url}/api/courses`, { token: `opaque-token-${count}` })
    statuses.add(answer.status)
    ids.add(answer.headers.get('x-request-id'))
  }
  t.strictSame(statuses, new Set([503]))
  t.match(lines('introspection_suspended'), [
    {
      level: 'warn',
      issuer: 'http://api.test',
      err: { code: 'ERR_INTROSPECTION_CONNECTION', causeCode: 'UND_ERR_SOCKET' },
    },
  ])
  const failed = lines('introspection_failed')
  t.strictSame(
    failed.map(({ issuer, err }) => [issuer, (err as Line)['code']]),
    [
      ['http://api.test', 'ERR_INTROSPECTION_CONNECTION'],
      ['http://api.test', 'ERR_INTROSPECTION_SUSPENDED'],
    ],
    'one line for each error code',
  )
  t.notMatch(under.logText(), /"stack"/)

  await until('every access line', async () => lines('access').length === REQUESTS)
  t.strictSame(
    new Set(lines('access').map((line) => `${line['error.type']} ${line['error.code']}`)),
    new Set([
      'token_unverifiable ERR_INTROSPECTION_CONNECTION',
      'token_unverifiable ERR_INTROSPECTION_SUSPENDED',
    ]),
  )
  t.strictSame(new Set(lines('access').map((line) => line['request_id'])), ids)

  under.issuer.answerWith(undefined)
  const token = under.issuer.store('a-good-token', { scope: 'courses:read' })
  await until('the issuer is asked again', async () => {
    const answer = await send(`${url}/api/courses`, { token })
    return answer.status === 200
  })
  t.match(lines('introspection_back'), [{ level: 'info', issuer: 'http://api.test' }])

  const metrics = (await send(`${managementUrl}/metrics`)).text
  const counted = [...metrics.matchAll(/^scopegate_introspections_total\{.*result="(\w+)"\} (\d+)$/gm)]
    .filter(([, result]) => result !== 'answered')
    .reduce((sum, [, , count]) => sum + Number(count), 0)
  await under.gateway.close({ how: 'immediate' })
  t.ok(counted >= REQUESTS)
  t.equal(failuresIn(lines('introspection_failed')), counted, 'the end of an interval logs the count')
  t.notMatch(under.logText(), /"stack"/)
})

t.test('an outage of an upstream writes one failure line, not a line for each request', async (t) => {
  const under = await startGatewayUnderTest(t)
  const lines = (event: string): readonly Line[] => under.log().filter((line) => line['event'] === event)
  // A response between two failures keeps the circuit closed, so each request reaches the upstream.
  let asked = 0
  under.upstream.reply((socket) => {
    asked += 1
    if (asked % 3 === 0) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    else socket.destroy()
  })
  const statuses = new Map<number, number>()
  for (let count = 0; count < REQUESTS; count += 1) {
    const { status } = await send(`${under.gateway.url}/pub/x`, { method: 'DELETE' })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  const broken = statuses.get(502) ?? 0
  t.ok(broken > REQUESTS / 2)
  t.match(lines('upstream_failed'), [
    { level: 'warn', upstream: 'api', request_id: String, err: { code: 'ERR_UPSTREAM_RESET' } },
  ])
  t.equal(lines('upstream_failed').length, 1)
  await until('every access line', async () => lines('access').length === REQUESTS)
  t.equal(lines('access').filter((line) => line['error.code'] === 'ERR_UPSTREAM_RESET').length, broken)
  await under.gateway.close({ how: 'immediate' })
  t.equal(failuresIn(lines('upstream_failed')), broken)
  t.notMatch(under.logText(), /"stack"/)
})

t.test('a target writes one log line when it is ejected, and one when it returns', async (t) => {
  const under = await startGatewayUnderTest(t)
  const lines = (event: string): readonly Line[] => under.log().filter((line) => line['event'] === event)
  under.upstream.reply((socket) => socket.destroy())
  for (let count = 0; count < 20; count += 1) await send(`${under.gateway.url}/pub/x`, { method: 'DELETE' })
  t.match(lines('target_ejected'), [{ level: 'warn', upstream: 'api', target: under.upstream.url }])
  t.equal(lines('target_ejected').length, 1)
  under.upstream.reply('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  await until(
    'the target gets a request',
    async () => (await send(`${under.gateway.url}/pub/x`)).status === 200,
  )
  t.match(lines('target_back'), [{ level: 'info', upstream: 'api', target: under.upstream.url }])
  t.equal(lines('target_back').length, 1)
})

t.test('repeated ready events of an issuer on the revocation stream write one log line', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, issuers: config.issuers.map(pushing) }),
  })
  await under.issuer.subscribed()
  under.issuer.push('event: ready\ndata: {}\n\n'.repeat(100))
  const token = under.issuer.store('a-revoked-token', { scope: 'courses:read' })
  t.equal((await send(`${under.gateway.url}/api/courses`, { token })).status, 200)
  under.issuer.revoke(token)
  await until('the gateway has read the revocation', async () => {
    return (await send(`${under.gateway.url}/api/courses`, { token })).status === 401
  })
  t.equal(under.log().filter(({ event }) => event === 'revocations_connected').length, 1)
})
