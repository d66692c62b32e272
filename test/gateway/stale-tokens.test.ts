import t from 'tap'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

/** The token cache time is 50 ms, so that the gateway soon checks each token again. */
function start(t: Parameters<typeof startGatewayUnderTest>[0], staleIfErrorMs = 600_000) {
  return startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((issuer) => ({ ...issuer, staleIfErrorMs })),
      tokenCache: { ...config.tokenCache, maxTtlMs: 50 },
    }),
  })
}

async function request(under: GatewayUnderTest, token: string, scheme = 'Bearer') {
  const response = await fetch(`${under.gateway.url}/api/courses`, {
    headers: { authorization: `${scheme} ${token}` },
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

const management = async ({ gateway }: GatewayUnderTest, path: string) => {
  const response = await fetch(`${gateway.managementUrl}${path}`)
  return { status: response.status, text: await response.text() }
}

t.test(
  'during an outage of the issuer, the gateway accepts known tokens and reports the outage',
  async (t) => {
    const under = await start(t)
    const { issuer } = under
    issuer.store('known', { scope: 'courses:read' })
    issuer.store('poor', { scope: 'pages:read' })
    issuer.store('bound', { scope: 'courses:read', token_type: 'DPoP', cnf: { jkt: 'a'.repeat(43) } })
    t.equal((await request(under, 'known')).status, 200)
    t.equal((await request(under, 'poor')).status, 403)
    t.equal((await request(under, 'bound', 'DPoP')).status, 401)
    t.notMatch((await management(under, '/readyz?verbose')).text, /token status/)

    issuer.answerWith((response) => response.writeHead(503).end())
    const metric = async (name: string) => sumSamples((await management(under, '/metrics')).text, name)
    await until('an earlier status is used', async () => {
      t.equal((await request(under, 'known')).status, 200)
      return (await metric('scopegate_token_stale_uses_total')) > 0
    })
    t.equal(await metric('scopegate_token_stale_active'), 1)
    const { status, text } = await management(under, '/readyz?verbose')
    t.equal(status, 200)
    t.match(
      text,
      `[!] token status of ${BASE_URL}: stale: the gateway accepts known tokens by their last check, for at most staleIfError\n`,
    )
    t.match(text, 'ok (degraded)\n')

    const other = await request(under, 'other')
    t.equal(other.status, 503)
    t.match(other.text, '"error":"upstream_unavailable"')
    t.ok(other.headers.has('retry-after'))
    for (let round = 0; round < 10; round++) {
      const poor = await request(under, 'poor')
      t.equal(poor.status, 403)
      t.match(poor.headers.get('www-authenticate'), /error="insufficient_scope"/)
      const bound = await request(under, 'bound', 'DPoP')
      t.equal(bound.status, 401, 'without its proof')
      t.match(bound.headers.get('www-authenticate'), /error="invalid_dpop_proof"/)
    }

    issuer.revoke('known', { push: false })
    issuer.answerWith(undefined)
    await until('the issuer responds', async () => (await request(under, 'known')).status === 401)
    await until('the state ends', async () => (await metric('scopegate_token_stale_active')) === 0)
    t.notMatch((await management(under, '/readyz?verbose')).text, /token status/)
    const lines = under.log().filter(({ event }) => String(event).startsWith('stale_tokens'))
    t.match(lines, [
      { event: 'stale_tokens_accepted', issuer: BASE_URL },
      { event: 'stale_tokens_ended', issuer: BASE_URL },
    ])
    t.equal(lines.length, 2)
  },
)

t.test('with staleIfError 0s, known tokens get 503 when their cache time is over', async (t) => {
  const under = await start(t, 0)
  under.issuer.store('known', { scope: 'courses:read' })
  t.equal((await request(under, 'known')).status, 200)
  under.issuer.answerWith((response) => response.writeHead(503).end())
  await until('the cache time is over', async () => (await request(under, 'known')).status === 503)
  const { text } = await management(under, '/metrics')
  t.notMatch(text, /^scopegate_token_stale_active\{/m)
})
