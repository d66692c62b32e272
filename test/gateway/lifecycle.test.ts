import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'

t.test('a closing gateway fails readiness first and completes requests in progress', async (t) => {
  const under = await startGatewayUnderTest(t)
  let release: () => void = () => undefined
  const arrived = new Promise<void>((resolve) =>
    under.upstream.reply((socket) => {
      release = () => socket.write(OK_REPLY)
      resolve()
    }),
  )
  const agent = new Agent({ keepAlive: true })
  const outgoing = request(`${under.gateway.url}/pub/x`, { agent }).end()
  await arrived
  t.equal((await fetch(`${under.gateway.managementUrl}/readyz`)).status, 200)
  const closing = under.gateway.close()
  const ready = await fetch(`${under.gateway.managementUrl}/readyz`)
  t.equal(ready.status, 503, 'readiness fails first')
  release()
  const [response] = await once(outgoing, 'response')
  t.equal(response.statusCode, 200)
  t.equal(response.headers['connection'], 'close')
  response.resume()
  await closing
  await t.rejects(fetch(`${under.gateway.url}/pub/x`))
  await t.rejects(fetch(`${under.gateway.managementUrl}/livez`))
})

t.test('the start of a gateway fails with an explanation when its port is in use', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  await t.rejects(
    startGatewayUnderTest(t, { change: (config) => ({ ...config, listen: { host: '127.0.0.1', port } }) }),
    { code: 'ERR_PORT_TAKEN', exitCode: 1, message: new RegExp(`127\\.0\\.0\\.1:${port}.*listen\\.port`) },
  )
  await t.rejects(
    startGatewayUnderTest(t, {
      change: (config) => ({ ...config, management: { host: '127.0.0.1', port } }),
    }),
    { code: 'ERR_PORT_TAKEN', message: /management\.port/ },
  )
})

t.test('invalid policies prevent the start, and the error lists every problem', async (t) => {
  const policy = `apiVersion: scopegate/v1
kind: Policy
name: broken
owner: team
upstream: nowhere
routes:
  - { name: one, match: { methods: [GET], path: /a }, scopes: { all: [courses:raed] } }
  - { name: two, match: { methods: [GET], path: /oauth/x } }
`
  await t.rejects(startGatewayUnderTest(t, { policy }), {
    code: 'ERR_CONFIG_INVALID',
    exitCode: 3,
    message: /nowhere[\s\S]*courses:raed[\s\S]*oauth/,
  })
})
