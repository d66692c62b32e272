import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { startDecisionEndpoint } from '../fixtures/a-decision-endpoint.ts'
import { startTlsGateway } from '../fixtures/a-tls-gateway.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { send } from '../fixtures/send.ts'

const asking = (path: string) => ({ 'x-forwarded-method': 'GET', 'x-forwarded-uri': path })

t.test('a drain finishes open decisions, and closes the port', async (t) => {
  const { decisions, gateway, issuer } = await startDecisionEndpoint(t, 'forward-auth')
  const asked = Promise.withResolvers<() => void>()
  issuer.answerWith((response) =>
    asked.resolve(() =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}'),
    ),
  )
  const pending = send(decisions, { token: 'held', headers: asking('/api/courses') })
  const respond = await asked.promise
  const closed = gateway.close()
  respond()
  const denied = await pending
  t.equal(denied.status, 401)
  t.equal(denied.json['error'], 'invalid_token')
  t.match(denied.headers.get('www-authenticate'), /error="invalid_token"/)
  await closed
  await t.rejects(once(connect(Number(new URL(decisions).port), '127.0.0.1'), 'connect'))
})

t.test('TLS: the port uses the certificate of the gateway', async (t) => {
  const { log, authority } = await startTlsGateway(t, {
    change: (config) => ({
      ...config,
      trustedProxies: ['127.0.0.1'],
      decisions: { listen: { host: '127.0.0.1', port: 0 }, protocol: 'forward-auth' },
    }),
  })
  const url = String(log().find(({ event }) => event === 'serving_decisions')?.['url'])
  t.match(url, /^https:/)
  const statusOf = async (ca?: string) => {
    const [response] = await once(
      request(url, { ca, agent: false, headers: asking('/pub/x') }).end(),
      'response',
    )
    response.resume()
    return response.statusCode
  }
  t.equal(await statusOf(authority.cert), 200)
  await t.rejects(statusOf(), 'a client without the CA of the certificate')
})

t.test('each worker decides with the policies of the last reload', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const port = await quietPort()
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: 'http://127.0.0.1:1',
    settings: {
      workers: 2,
      policyReload: 'manual',
      trustedProxies: ['127.0.0.1'],
      decisions: { listen: { host: '127.0.0.1', port }, protocol: 'forward-auth' },
    },
  })
  const statuses = async (path: string) => {
    const headers = { ...asking(path), connection: 'close' }
    const answers = Array.from({ length: 8 }, () => send(`http://127.0.0.1:${port}`, { headers }))
    return new Set((await Promise.all(answers)).map(({ status }) => status))
  }
  t.same(await statuses('/pub/x'), new Set([200]))
  t.same(await statuses('/moved/x'), new Set([404]))
  const file = join(folder, 'policies', 'soak.policy.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('/pub/**', '/moved/**'))
  t.equal((await send(`${gateway.managementUrl}/reload`, { method: 'POST' })).status, 200)
  t.same(await statuses('/pub/x'), new Set([404]))
  t.same(await statuses('/moved/x'), new Set([200]))
})
