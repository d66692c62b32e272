import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { STREAMS_POLICY, startStreams, useAll } from '../fixtures/live-streams.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'

const OTHERS = STREAMS_POLICY.replace('/events', '/other-events').replace('/live', '/other-live')

t.test('one hundred streams stay open during ten reloads that change or remove their routes', async (t) => {
  let folder = ''
  const streams = await startStreams(t, 2_000, undefined, (config) => {
    folder = config.policiesDir
    return config
  })
  const { gateway } = streams.under
  for (let reload = 1; reload <= 10; reload++) {
    writeFileSync(
      join(folder, 'test.policy.yaml'),
      `# ${reload}\n${reload % 2 === 0 ? STREAMS_POLICY : OTHERS}`,
    )
    t.match(await gateway.reload('signal'), { result: 'applied' })
    const { status } = await send(`${gateway.url}/events`, { method: 'POST' })
    t.equal(status, reload % 2 === 0 ? 405 : 404, 'new requests use the new policies')
    await useAll(streams, `word-${reload}`)
  }
  t.same(streams.live.closes, [])
  t.ok(streams.eventClients.every(({ socket }) => !socket.destroyed))
})

t.test('a WebSocket session keeps its policy after a reload, and ends with its token', async (t) => {
  let folder = ''
  const { under, live } = await startStreams(t, 2_000, { lifeSeconds: 600 }, (config) => {
    folder = config.policiesDir
    // Without a revocation stream, the gateway periodically introspects the tokens of open sessions.
    return { ...config, tokenCache: { ...config.tokenCache, ttlWithoutPushMs: 50, maxTtlMs: 50 } }
  })
  writeFileSync(
    join(folder, 'test.policy.yaml'),
    STREAMS_POLICY.replace(
      'websocket: true',
      'websocket: true, anonymous: challenge, scopes: { all: [courses:write] }',
    ),
  )
  t.match(await under.gateway.reload('signal'), { result: 'applied' })
  await t.rejects(
    openWebsocket(`${under.gateway.url}/live`, 'token'),
    /403/,
    'a new session requires another scope',
  )
  const asked = under.issuer.asked.length
  await until('the token was introspected again', async () => under.issuer.asked.length > asked + 1)
  t.same(live.closes, [], 'no session is closed')
  under.issuer.revoke('token')
  await until('all of them are closed', async () => live.closes.length === 50)
  t.same(new Set(live.closes), new Set([1008]))
})
