import { join } from 'node:path'
import t from 'tap'
import { startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { testBrowserClients } from './browser-clients.ts'
import { EXAMPLES, type Ingress, startExample, testIngress } from './ingress.ts'

const HAPROXY: Ingress = {
  name: 'HAProxy',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  command: () => ['haproxy', '-f', 'haproxy.cfg'],
}

testIngress(HAPROXY)
testBrowserClients({ ...HAPROXY, fence: 'haproxy' })

t.test('HAProxy denies each request if the Lua action fails', async (t) => {
  const upstream = await startRecordingUpstream()
  t.teardown(() => upstream.close())
  const url = await startExample(
    t,
    {
      ...HAPROXY,
      folder: join(EXAMPLES, 'haproxy'),
      adapt: (text) => text.replace('local headers = {}', "error('broken')"),
      readyStatus: 503,
    },
    { upstream: upstream.url },
  )
  t.equal((await send(`${url}/pub/x`, { token: 'good' })).status, 503)
  t.equal(upstream.requests.length, 0)
})
