import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

t.test('each request writes one access line without secrets', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.store('the-secret-token', { scope: 'courses:read', sub: 'the-subject' })
  const response = await fetch(`${under.gateway.url}/api/courses/7?q=the-secret-query`, {
    headers: {
      authorization: 'Bearer the-secret-token',
      cookie: 'a=the-secret-cookie',
      'user-agent': 'test "1"\u007f'.slice(0, 8),
    },
  })
  const requestId = response.headers.get('x-request-id')
  const line = await until('the line', async () => under.log().find((one) => one['request_id'] === requestId))
  t.match(line, {
    level: 'info',
    time: /^\d{4}-\d\d-\d\dT/,
    service: 'gateway',
    event: 'access',
    'http.request.method': 'GET',
    'url.path': '/api/courses/7',
    'http.route': '/api/courses/{id}',
    route: 'test/read-course',
    'http.response.status_code': 200,
    duration_ms: Number,
    upstream: 'api',
    'upstream.status': 200,
    'upstream.duration_ms': Number,
    'client.address': '127.0.0.1',
    'auth.decision': 'allow',
    'auth.reason': 'ok',
    'auth.client_id': 'client-1',
  })
  t.notMatch(under.logText(), /the-secret|the-subject/)

  const denied = await fetch(`${under.gateway.url}/api/courses/7`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer the-secret-token' },
  })
  const deniedLine = await until('the line', async () =>
    under.log().find((one) => one['request_id'] === denied.headers.get('x-request-id')),
  )
  t.match(deniedLine, {
    'auth.decision': 'deny',
    'auth.reason': 'insufficient_scope',
    'auth.scopes_missing': ['courses:write'],
  })
})

t.test('request values never create a time series', async (t) => {
  const under = await startGatewayUnderTest(t)
  const scrape = async () => {
    const text = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
    return { text, series: text.split('\n').filter((line) => line.startsWith('scopegate_')).length }
  }
  const ask = async (i: number) => {
    await (
      await fetch(`${under.gateway.url}/pub/path-${i}?x=${i}`, { headers: { 'user-agent': `agent-${i}` } })
    ).arrayBuffer()
    await (await fetch(`${under.gateway.url}/nothing-${i}`)).arrayBuffer()
    under.issuer.store(`token-${i}`, { client_id: `client-${i}`, sub: `sub-${i}` })
    const init = { headers: { authorization: `Bearer token-${i}` } }
    await (await fetch(`${under.gateway.url}/pub/x`, init)).arrayBuffer()
  }
  await ask(0)
  const before = await scrape()
  for (let i = 1; i < 50; i++) await ask(i)
  const after = await scrape()
  t.equal(after.series, before.series)
  t.notMatch(after.text, /path-|nothing-|client-1|agent-|sub-1/)
  t.match(after.text, /scopegate_http_requests_total\{route="-",method="GET",code="404"\} 50/)
  t.match(
    after.text,
    /scopegate_auth_decisions_total\{route="test\/open",decision="allow",reason="anonymous"\} 50/,
  )
  t.match(after.text, /scopegate_auth_decisions_total\{route="test\/open",decision="allow",reason="ok"\} 50/)
  t.match(after.text, /scopegate_token_cache_entries\{kind="opaque"\} 50/)
  t.match(after.text, /scopegate_token_cache_misses_total\{kind="opaque"\} 50/)
  t.match(
    after.text,
    'scopegate_token_validation_duration_seconds_count{kind="opaque",cache="miss"} 50\n',
    'the duration of a validation has the kind of its token',
  )
  t.match(after.text, /scopegate_policy_routes\{policy="test"\} 12/)
  t.match(after.text, /scopegate_http_requests_in_flight 0/)
  for (const name of [
    'build_info',
    'policy_info',
    'upstream_request_duration_seconds_count',
    'token_validation_duration_seconds_count',
  ])
    t.match(after.text, new RegExp(`^scopegate_${name}\\{`, 'm'))
  t.match(after.text, /^nodejs_eventloop_lag_seconds /m)
})

t.test('the metrics count the first use of a token as a cache miss and the second as a hit', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.store('one-token', { scope: 'courses:read' })
  for (let i = 0; i < 2; i++) {
    const headers = { authorization: 'Bearer one-token' }
    t.equal((await fetch(`${under.gateway.url}/api/courses/7`, { headers })).status, 200)
  }
  const text = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  for (const result of ['miss', 'hit'])
    t.match(
      text,
      `scopegate_token_validation_duration_seconds_count{kind="opaque",cache="${result}"} 1\n`,
      result,
    )
  t.match(text, 'scopegate_token_cache_misses_total{kind="opaque"} 1\n')
  t.match(text, 'scopegate_token_cache_hits_total{kind="opaque"} 1\n')
})

t.test('methods that are not in the fixed list share the label _OTHER', async (t) => {
  const under = await startGatewayUnderTest(t)
  const methods = ['PROPFIND', 'MKCOL', 'PURGE', 'SEARCH', 'REPORT']
  for (const method of methods) {
    const answer = await under.raw(`${method} /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 405 /, method)
  }
  await (await fetch(`${under.gateway.url}/pub/x`, { method: 'PUT' })).arrayBuffer()
  const text = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  const labels = [...text.matchAll(/^scopegate_http_request\w*\{.*method="([^"]*)"/gm)].map(
    ([, method]) => method,
  )
  t.strictSame(new Set(labels), new Set(['_OTHER', 'PUT']))
  t.match(text, `scopegate_http_requests_total{route="-",method="_OTHER",code="405"} ${methods.length}\n`)
  t.match(
    text,
    `scopegate_http_request_duration_seconds_count{route="-",method="_OTHER",code_class="4xx"} ${methods.length}\n`,
  )
})
