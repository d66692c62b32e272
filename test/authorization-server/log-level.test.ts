import t from 'tap'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

t.test('the authorization server writes access lines only while the log level includes info', async (t) => {
  const server = await startServer(t, { log: { level: 'info', auditFile: undefined, format: 'default' } })
  const paths = () => server.log().flatMap((line) => (line['event'] === 'access' ? [line['url.path']] : []))
  for (const [level, path] of [
    ['warn', '/warn'],
    ['debug', '/debug'],
  ] as const) {
    const response = await send(`${server.managementUrl}/log-level`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ level }),
    })
    t.strictSame(response.json, { level, configuredLevel: 'info' })
    await send(`${server.baseUrl}${path}`)
  }
  await server.stop()
  t.strictSame(paths(), ['/debug'])
})
