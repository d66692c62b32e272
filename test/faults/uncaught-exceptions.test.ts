import t from 'tap'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

const KINDS = [
  ['GET', '/pub/x', undefined],
  ['POST', '/pub/x', 'a body'],
  ['GET', '/api/courses', undefined],
  ['GET', '/nothing-here', undefined],
] as const
/** More clock reads than a request of this test needs. */
const READINGS = 12

t.test(
  'an exception in a request ends only that request, with a 500 or by closing its connection',
  async (t) => {
    let readings = 0
    let throwAt = 0
    let thrown = 0
    const { gateway, issuer, upstream, log } = await startGatewayUnderTest(t, {
      gateway: {
        tickMs() {
          if (throwAt > 0 && ++readings === throwAt) {
            thrown += 1
            throw new Error('made up')
          }
          return performance.now()
        },
      },
    })
    upstream.reply(OK_REPLY)
    const metric = async (name: string) =>
      sumSamples(await (await fetch(`${gateway.managementUrl}/metrics`)).text(), name)
    const seen = new Set<string>()
    for (const [method, path, body] of KINDS)
      for (let at = 1; at <= READINGS; at++) {
        const token = issuer.store(`token-${at}`, { scope: 'courses:read' })
        readings = 0
        throwAt = at
        const answer = await fetch(gateway.url + path, {
          method,
          headers: path.startsWith('/api') ? { authorization: `Bearer ${token}` } : {},
          ...(body === undefined ? {} : { body }),
          signal: AbortSignal.timeout(60_000),
        }).then(
          async (one) => ({
            status: one.status,
            headers: Object.fromEntries(one.headers),
            json: JSON.parse((await one.text()) || '{}'),
          }),
          (error: Error) => ({ status: error.name === 'TimeoutError' ? -1 : 0, headers: {}, json: {} }),
        )
        throwAt = 0
        seen.add(String(answer.status))
        t.ok([0, 200, 404, 500].includes(answer.status), `${method} ${path}, reading ${at}: ${answer.status}`)
        if (answer.status === 500) {
          t.match(answer.json, { error: 'server_error' })
          t.match(answer.headers, {
            'content-type': 'application/json',
            'cache-control': 'no-store',
            'x-scopegate-error': '1',
          })
        }
        await until(
          'nothing is in flight',
          async () => (await metric('scopegate_http_requests_in_flight')) === 0,
        )
        t.equal((await fetch(`${gateway.url}/pub/next`)).status, 200, 'the next request is served')
      }
    t.ok(seen.has('500') && seen.has('200'), [...seen].join(' '))
    t.ok(thrown > 10, `${thrown} exceptions`)
    await until(
      'each exception is counted',
      async () => (await metric('scopegate_uncaught_total{where="request"}')) === thrown,
    )
    const told = log().filter(({ event }) => event === 'request_failed')
    t.equal(told.length, thrown)
    t.match(told[0], { 'client.address': '127.0.0.1', err: { message: 'made up', stack: /at / } })
  },
)
