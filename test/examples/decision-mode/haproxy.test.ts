import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { testBrowserClients } from './browser-clients.ts'
import { EXAMPLES, type Ingress, startExample, testIngress } from './ingress.ts'

const HAPROXY: Ingress = {
  name: 'HAProxy',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  forwardsTrailers: true,
  foreignStatus: 503,
  command: () => ['haproxy', '-f', 'haproxy.cfg'],
}

testIngress(HAPROXY)
testBrowserClients({ ...HAPROXY, fence: 'haproxy' })

t.test('HAProxy starts the example without warnings', async (t) => {
  const { stdout, stderr } = await promisify(execFile)('haproxy', ['-c', '-V', '-f', 'haproxy.cfg'], {
    cwd: join(EXAMPLES, 'haproxy'),
  })
  t.match(stdout, /Configuration file is valid/)
  t.notMatch(stdout + stderr, /WARNING/)
})

t.test('HAProxy forwards a target in absolute form as a path', async (t) => {
  const { decisions, upstream } = await startDecisionEndpoint(t, HAPROXY.protocol)
  const example = { ...HAPROXY, folder: join(EXAMPLES, 'haproxy') }
  const url = await startExample(t, example, { decisions, upstream: upstream.url })
  const ask = async (target: string, host: string) =>
    (await sendBytes(url, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)).statuses
  t.same(await ask('http://api.test/pub/x?y', 'api.test'), [200])
  t.equal(upstream.requests.at(-1)?.target, '/pub/x?y')
  t.same(await ask('http://user@api.test/pub/x', 'api.test'), [200])
  t.equal(upstream.requests.at(-1)?.target, '/pub/x')
  const forwarded = upstream.requests.length
  // Some servers read a backslash as a slash, and therefore another path.
  t.same(await ask('http://api.test\\api\\denied/pub/x', 'api.test\\api\\denied'), [400])
  t.equal(upstream.requests.length, forwarded)
})

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
