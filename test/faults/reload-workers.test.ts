import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

async function start(t: Test) {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const upstream = await startRecordingUpstream()
  cleanup.add(upstream.close)
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: upstream.url,
    settings: { workers: 2, policyReload: 'manual', debug: { policyHeader: true } },
  })
  const file = join(folder, 'policies', 'soak.policy.yaml')
  const good = readFileSync(file, 'utf8')
  return {
    ...gateway,
    folder,
    good,
    write: (text: string) => writeFileSync(file, text),
    reload: () => send(`${gateway.managementUrl}/reload`, { method: 'POST' }),
    readyz: async () => (await send(`${gateway.managementUrl}/readyz?verbose`)).text,
    /** Returns the statuses and policy versions of responses on new connections. */
    async asked(path: string): Promise<ReadonlySet<string>> {
      const answers = Array.from({ length: 8 }, () =>
        send(`${gateway.url}${path}`, { headers: { connection: 'close' } }),
      )
      const seen = (await Promise.all(answers)).map(
        ({ status, headers }) => `${status} ${headers.get('x-scopegate-policy')}`,
      )
      return new Set(seen)
    },
  }
}

t.test(
  'workers reload together, and a replaced worker starts with the active policies of the others',
  async (t) => {
    const gateway = await start(t)
    const { pid } = gateway.process
    const moved = gateway.good.replace('/pub/**', '/moved/**')

    gateway.write(moved)
    const answer = await gateway.reload()
    t.equal(answer.status, 200, answer.text)
    t.match(answer.json, {
      result: 'applied',
      routes: 1,
      workers: [{ result: 'applied' }, { result: 'applied' }],
    })
    const hash = String(answer.json['hash']).slice(0, 12)
    t.same(await gateway.asked('/moved/x'), new Set([`200 ${hash}`]))
    t.same(await gateway.asked('/pub/x'), new Set([`404 ${hash}`]))
    const metrics = (await send(`${gateway.managementUrl}/metrics`)).text
    t.equal(metrics.match(/^scopegate_policy_info\{/gm)?.length, 1)
    t.match(
      metrics,
      /^scopegate_policy_reloads_total\{result="success"\} 1$/m,
      'one reload, not one for each worker',
    )

    gateway.write(gateway.good.replace('"owner"', '"ownr"'))
    const broken = await gateway.reload()
    t.equal(broken.status, 422)
    t.match(broken.json, {
      result: 'broken',
      hash: answer.json['hash'],
      diagnostics: [{ code: 'P101', line: 1 }],
    })
    t.same(await gateway.asked('/moved/x'), new Set([`200 ${hash}`]))
    t.match(await gateway.readyz(), /\[!\] policies: 1 routes.*soak\.policy\.yaml:1:\d+: error\[P101\]/)

    const [victim = 0] = childrenOf(pid)
    process.kill(victim, 'SIGKILL')
    await until('a new worker starts although the files on disk are invalid', async () => {
      const now = childrenOf(pid)
      return !now.includes(victim) && (await gateway.readyz()).includes('2 of 2 ready')
    })
    t.same(await gateway.asked('/moved/x'), new Set([`200 ${hash}`]), 'with the policies of the other worker')

    const before = childrenOf(pid)
    process.kill(pid, 'SIGUSR2')
    await until('a new worker was tried', async () =>
      /worker_starts_total\{reason="roll"\} 1/.test((await send(`${gateway.managementUrl}/metrics`)).text),
    )
    await until('only the old workers run', async () => `${childrenOf(pid)}` === `${before}`)

    // The current workers have not loaded this upstream. Only new workers read upstreams.yaml.
    const upstreams = join(gateway.folder, 'upstreams.yaml')
    const { api } = JSON.parse(readFileSync(upstreams, 'utf8'))
    writeFileSync(upstreams, JSON.stringify({ api, other: api }))
    gateway.write(gateway.good.replace('"upstream":"api"', '"upstream":"other"'))
    t.match((await gateway.reload()).json, { result: 'broken', diagnostics: [{ code: 'P202' }] })
    process.kill(pid, 'SIGUSR2')
    await until('both workers have the new policies and upstreams', async () => {
      const seen = await gateway.asked('/pub/x')
      return seen.size === 1 && [...seen][0]?.startsWith('200 ')
    })
    await until('the supervisor reports the new policies', async () =>
      /\[\+\] policies: 1 routes/.test(await gateway.readyz()),
    )

    gateway.write(moved)
    process.kill(pid, 'SIGHUP')
    await until('SIGHUP is a reload', async () => {
      const seen = await gateway.asked('/moved/x')
      return seen.size === 1 && seen.has(`200 ${hash}`)
    })
    t.match((await send(`${gateway.managementUrl}/policies`)).json, {
      hash: answer.json['hash'],
      routes: [{ name: 'soak/all', path: '/moved/**' }],
    })
  },
)
