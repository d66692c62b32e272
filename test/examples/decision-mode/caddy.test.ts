import { join } from 'node:path'
import t from 'tap'
import { startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { testBrowserClients } from './browser-clients.ts'
import { EXAMPLES, type Ingress, startExample, testIngress } from './ingress.ts'

const CADDY: Ingress = {
  name: 'Caddy',
  protocol: 'forward-auth',
  silentStatus: 504,
  hasHeaderPatterns: true,
  foreignStatus: 502,
  command: () => ['caddy', 'run', '--config', 'Caddyfile'],
}
const EXAMPLE = { ...CADDY, folder: join(EXAMPLES, 'caddy') }

testIngress(CADDY)
testBrowserClients({ ...CADDY, fence: 'caddy' })

t.test(
  'Caddy uses each connection for one decision, because a kept connection can be to the upstream',
  async (t) => {
    const decisions = await startRecordingUpstream()
    const upstream = await startRecordingUpstream()
    t.teardown(() => Promise.all([decisions.close(), upstream.close()]))
    decisions.reply('HTTP/1.1 200 OK\r\nx-scopegate-decision: allow\r\ncontent-length: 0\r\n\r\n')
    const url = await startExample(t, EXAMPLE, { decisions: decisions.url, upstream: upstream.url })
    for (let request = 0; request < 3; request++) t.equal((await send(`${url}/pub/x`)).status, 200)
    t.equal(upstream.requests.length, 4, 'with the request that waits for Caddy')
    t.equal(decisions.connections, decisions.requests.length)
  },
)
