import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startKeepAliveLoad } from '../../../bench/soak/keep-alive-load.ts'

const server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

t.test('a connection that opens after the stop is not a failed request', async (t) => {
  const load = startKeepAliveLoad({ url, busy: 1, pausing: 1, fleeting: 1 })
  await load.stop()
  t.strictSame(load.counts, { answered: 0, failed: new Map(), opened: 3 })
})

t.test('a connection that closes without a response is a failed request', async (t) => {
  server.once('connection', (socket) => socket.end())
  const load = startKeepAliveLoad({ url, busy: 1, pausing: 0, fleeting: 0 })
  await load.reached(2)
  await load.stop()
  t.equal(load.counts.failed.size, 1)
  t.ok(load.counts.answered >= 1)
})
