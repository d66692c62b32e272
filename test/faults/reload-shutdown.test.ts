import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

/** Starts a gateway with a reload that waits for a paused worker. */
async function startDuringReload(t: Test) {
  const cleanup = createCleanup()
  const config = join(t.testdir({ config: {} }), 'config')
  t.teardown(() => cleanup.run())
  const log = join(t.testdirName, 'log')
  const gateway = await startSoakGateway({
    folder: config,
    cleanup,
    upstream: 'http://127.0.0.1:1',
    settings: { workers: 2, policyReload: 'manual', drain: { delay: '0s', grace: '1s' } },
    stdout: openSync(log, 'a'),
  })
  const { child, pid } = gateway.process
  const exited = once(child, 'exit')
  const workers = childrenOf(pid)
  const [paused = 0] = workers
  process.kill(paused, 'SIGSTOP')
  const policy = join(config, 'policies', 'soak.policy.yaml')
  writeFileSync(policy, readFileSync(policy, 'utf8').replace('/pub/**', '/new/**'))
  const reload = () => send(`${gateway.managementUrl}/reload`, { method: 'POST' })
  const running = reload()
  await until('the other worker has activated the policies', async () =>
    (await send(`${gateway.managementUrl}/policies`)).text.includes('/new/**'),
  )
  return {
    ...gateway,
    workers,
    paused,
    exited,
    reports: [running, reload()],
    events: (): readonly string[] => readFileSync(log, 'utf8').match(/(?<="event":")\w+/g) ?? [],
  }
}

type Started = Awaited<ReturnType<typeof startDuringReload>>

async function expectCleanExit(t: Test, { exited, workers, url, managementUrl, events }: Started) {
  t.same(await exited, [0, null])
  t.equal(events().at(-1), 'stopped')
  for (const pid of workers) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, `worker ${pid} remains`)
  for (const closed of [url, managementUrl]) await t.rejects(send(closed), closed)
}

const STOPPED = {
  status: 503,
  json: {
    result: 'not_checked',
    error: 'policies_not_checked',
    error_description: /^The gateway shuts down.*at its start/,
  },
}

t.test('SIGTERM during a reload ends the wait of its callers, and the gateway drains', async (t) => {
  const started = await startDuringReload(t)
  process.kill(started.process.pid, 'SIGTERM')
  for (const report of await Promise.all(started.reports)) t.match(report, STOPPED)
  t.ok(childrenOf(started.process.pid).includes(started.paused), 'the workers still drain')
  process.kill(started.paused, 'SIGCONT')
  await expectCleanExit(t, started)
  t.notOk(started.events().includes('policy_reload_workers_exited'))
})

t.test('SIGTERM during a reload ends a worker that does not respond', async (t) => {
  const started = await startDuringReload(t)
  process.kill(started.process.pid, 'SIGTERM')
  for (const report of await Promise.all(started.reports)) t.match(report, STOPPED)
  await expectCleanExit(t, started)
})
