import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

t.test('all workers, also new ones, keep the last valid version of an invalid source', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir({ team: {} })
  t.teardown(() => cleanup.run())
  const upstream = await startRecordingUpstream()
  cleanup.add(upstream.close)
  const team = join(folder, 'team', 'team.policy.yaml')
  const good = JSON.stringify({
    apiVersion: 'scopegate/v1',
    kind: 'Policy',
    name: 'team',
    upstream: 'api',
    routes: [{ name: 'all', match: { methods: ['GET'], path: '/team/**' }, anonymous: 'allow' }],
  })
  writeFileSync(team, good)
  const permissions = (prefix: string) => ({ pathPrefixes: [prefix], upstreams: ['api'], anonymous: true })
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: upstream.url,
    settings: {
      workers: 2,
      policyReload: 'manual',
      policies: undefined,
      policySources: [
        { name: 'soak', folder: './policies', permissions: permissions('/pub') },
        { name: 'team', folder: './team', permissions: permissions('/team') },
      ],
    },
  })
  const { pid } = gateway.process
  const get = async (path: string) =>
    (await send(`${gateway.url}${path}`, { headers: { connection: 'close' } })).status
  const both = async () => [
    ...new Set(
      await Promise.all(Array.from({ length: 8 }, (_, at) => get(at % 2 === 0 ? '/team/x' : '/pub/x'))),
    ),
  ]
  const management = async (path: string) => (await send(`${gateway.managementUrl}${path}`)).text
  t.same(await both(), [200])

  writeFileSync(team, good.replace('"upstream":"api"', '"upstream":"none"'))
  const soak = join(folder, 'policies', 'soak.policy.yaml')
  writeFileSync(soak, readFileSync(soak, 'utf8').replace('/pub/**', '/pub/{one}'))
  const { status, json } = await send(`${gateway.managementUrl}/reload`, { method: 'POST' })
  t.equal(status, 200)
  t.match(json, {
    result: 'applied',
    sources: [
      { name: 'soak', state: 'valid' },
      { name: 'team', state: 'kept', error: { code: 'P202' } },
    ],
    workers: [{ result: 'applied' }, { result: 'applied' }],
  })
  t.same(await both(), [200])
  t.equal(await get('/pub/x/y'), 404, 'the new version of the valid source')
  t.match(await management('/metrics'), /^scopegate_policy_source_valid\{source="team"\} 0$/m)

  const [victim = 0] = childrenOf(pid)
  process.kill(victim, 'SIGKILL')
  await until('a new worker runs', async () => {
    const now = childrenOf(pid)
    return !now.includes(victim) && (await management('/readyz?verbose')).includes('2 of 2 ready')
  })
  t.same(await both(), [200], 'a worker after a crash')

  const before = childrenOf(pid)
  process.kill(pid, 'SIGUSR2')
  await until('new workers', async () => {
    const now = childrenOf(pid)
    return now.length === 2 && now.every((one) => !before.includes(one))
  })
  await until('the workers are ready', async () =>
    (await management('/readyz?verbose')).includes('2 of 2 ready'),
  )
  t.same(await both(), [200], 'workers after a rolling restart, without dataDir')
  t.match(await management('/readyz?verbose'), /\[!\] policy source team: .*error\[P202\]/)

  writeFileSync(team, good)
  t.match((await send(`${gateway.managementUrl}/reload`, { method: 'POST' })).json, {
    sources: [{ state: 'valid' }, { name: 'team', state: 'valid' }],
  })
})
