import t, { type Test } from 'tap'
import { createCleanup } from '../../../bench/cleanup.ts'
import { startPeer } from '../../../bench/start-peer.ts'
import { startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'

async function start(t: Test, program: string) {
  const cleanup = createCleanup()
  const upstream = await startRecordingUpstream()
  t.teardown(async () => {
    await cleanup.run()
    await upstream.close()
  })
  const target = { url: 'http://127.0.0.1:1/api/courses', headers: {}, expectedBody: '' }
  const peer = await startPeer({
    name: program,
    program,
    cores: undefined,
    cleanup,
    upstream: upstream.url,
    target,
  })
  return { upstream, url: peer.target.url }
}

t.test('plain-sockets relays requests and responses unchanged', async (t) => {
  const { upstream, url } = await start(t, 'plain-sockets')
  for (let count = 1; count <= 3; count += 1) {
    const answer = await send(url, { headers: { 'x-count': String(count) } })
    t.equal(answer.status, 200)
    t.equal(answer.text, '{"ok":true}')
    t.strictSame(upstream.seen('x-count'), [String(count)])
  }
  t.equal(upstream.requests[0]?.target, '/api/courses')
})

t.test('allow-all allows every request, and denies a request with the header x-bench-deny', async (t) => {
  const { url } = await start(t, 'allow-all')
  t.equal((await send(url)).status, 204)
  t.equal((await send(url, { headers: { 'x-bench-deny': '1' } })).status, 403)
})
