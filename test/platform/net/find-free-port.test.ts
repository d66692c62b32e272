import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { findFreePort } from '../../../platform/net/find-free-port.ts'

t.test('findFreePort() returns a free port below the ephemeral ports of Linux', async (t) => {
  const port = await findFreePort('127.0.0.1')
  t.ok(port >= 20_000 && port < 32_768, String(port))
  const server = createServer().listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
})

t.test('findFreePort() throws the listen error when the machine does not have the address', async (t) => {
  await t.rejects(findFreePort('192.0.2.1'), { code: 'EADDRNOTAVAIL' })
})
