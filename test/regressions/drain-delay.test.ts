import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'

// Before the fix, the gateway closed its listener immediately. Clients lost their connections before they had read the
// failing readiness endpoint.
t.test('a gateway that shuts down accepts requests during the drain delay', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, drain: { delayMs: 3_000, graceMs: 20_000 } }),
  })
  const { port } = new URL(under.gateway.url)
  // A keep-alive connection of a load balancer. The load balancer received one response before the shutdown.
  const kept = connect(Number(port), '127.0.0.1')
  kept.write('GET /pub/before HTTP/1.1\r\nHost: a\r\n\r\n')
  const [before] = await once(kept, 'data')
  t.match(String(before), /^HTTP\/1\.1 200 /)

  const closing = under.gateway.close()
  t.equal((await fetch(`${under.gateway.managementUrl}/readyz`)).status, 503)
  kept.write('GET /pub/kept HTTP/1.1\r\nHost: a\r\n\r\n')
  const [answer] = await once(kept, 'data')
  t.match(String(answer), /^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is)
  const fresh = await under.raw('GET /pub/new HTTP/1.1\r\nHost: a\r\n\r\n')
  t.match(fresh, /^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is)
  t.match(fresh, OK_REPLY.slice(-11))
  await closing
  await t.rejects(fetch(`${under.gateway.url}/pub/x`))
})
