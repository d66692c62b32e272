import t, { type Test } from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { parseOpenMetrics } from '../fixtures/parse-open-metrics.ts'
import { scrape } from '../fixtures/scrape.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const UNSAMPLED = '5bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = (trace: string, flags: string) => ({
  traceparent: `00-${trace}-00f067aa0ba902b7-${flags}`,
})

async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const response = await fetch(url, { headers })
  await response.arrayBuffer()
  return response.status
}

/** Asserts the format of the scrape. Returns the exemplars of a histogram. */
async function exemplarsOf(t: Test, managementUrl: string, histogram: string) {
  const { status, contentType, text } = await scrape(managementUrl, 'openmetrics')
  t.equal(status, 200)
  t.equal(contentType, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  const families = parseOpenMetrics(text)
  const inText = await scrape(managementUrl)
  t.equal(inText.contentType, 'text/plain; version=0.0.4; charset=utf-8')
  const classic = [...inText.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) =>
    type === 'counter' ? name?.replace(/_total$/, '') : name,
  )
  t.strictSame(
    families.map(({ name }) => name),
    classic,
    'both formats have the same metrics',
  )
  t.notMatch(inText.text, TRACE, 'the text format has no exemplars')
  const samples = families.find(({ name }) => name === histogram)?.samples ?? []
  return samples.flatMap(({ name, labels, exemplar }) =>
    exemplar === undefined ? [] : [{ name, labels, exemplar }],
  )
}

t.test('the gateway responds in OpenMetrics, with the traces of sampled requests', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { url, managementUrl } = under.gateway
  t.equal(await get(`${url}/pub/x`, traceparent(TRACE, '01')), 200)
  t.equal(await get(`${url}/pub/x`, traceparent(UNSAMPLED, '00')), 200)
  t.equal(await get(`${url}/nothing`, traceparent(`${TRACE}"`, '01')), 404)
  const exemplars = await exemplarsOf(t, managementUrl, 'scopegate_http_request_duration_seconds')
  t.match(exemplars, [
    {
      name: 'scopegate_http_request_duration_seconds_bucket',
      labels: { route: 'test/open', method: 'GET', code_class: '2xx' },
      exemplar: { labels: { trace_id: TRACE }, value: Number, timestamp: Number },
    },
  ])
  t.equal(exemplars.length, 1)
})

t.test('the authorization server responds in OpenMetrics, with the traces of sampled requests', async (t) => {
  const server = await startServer(t)
  const path = `http://127.0.0.1:${server.port}/.well-known/oauth-authorization-server`
  t.equal(await get(path, traceparent(TRACE, '01')), 200)
  t.equal(await get(path, traceparent(UNSAMPLED, '00')), 200)
  const exemplars = await exemplarsOf(t, server.managementUrl, 'scopegate_oauth_request_duration_seconds')
  t.match(exemplars, [
    {
      name: 'scopegate_oauth_request_duration_seconds_bucket',
      labels: { code_class: '2xx' },
      exemplar: { labels: { trace_id: TRACE } },
    },
  ])
  t.equal(exemplars.length, 1)
})
