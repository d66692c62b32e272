import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../../bench/cleanup.ts'
import { childrenOf, whenServing } from '../../../bench/soak/roll-workers.ts'
import { type SoakGateway, startSoakGateway } from '../../../bench/soak/start-soak-gateway.ts'
import { findFieldFaults } from '../../fixtures/find-field-faults.ts'
import { until } from '../../fixtures/until.ts'

type Line = Readonly<Record<string, unknown>>

async function start(t: Test, workers: number) {
  const cleanup = createCleanup()
  const folder = join(t.testdir(), 'gateway')
  mkdirSync(folder)
  t.teardown(() => cleanup.run())
  const file = join(folder, 'log')
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: 'http://127.0.0.1:1',
    settings: { workers, drain: { delay: '0s', grace: '60s' } },
    stdout: openSync(file, 'a'),
  })
  const lines = (): readonly Line[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const logged = (event: string) =>
    until(event, async () => lines().find((line) => line['event'] === event), 120_000)
  return { gateway, lines, logged }
}

async function end(
  { process: { pid } }: SoakGateway,
  logged: (event: string) => Promise<Line>,
): Promise<void> {
  process.kill(pid, 'SIGTERM')
  await logged('stopped')
}

t.test('each event of a supervisor and its workers has exactly its fields in the log', async (t) => {
  const { gateway, lines, logged } = await start(t, 2)
  const { pid } = gateway.process
  const [victim = 0] = childrenOf(pid)
  process.kill(victim, 'SIGKILL')
  t.match(await logged('worker_crashed'), { pid: victim, signal: 'SIGKILL', restart_ms: Number })
  await whenServing(gateway, { without: [victim], workers: 2 })
  await end(gateway, logged)

  t.match(await logged('listening'), {
    url: gateway.url,
    management_url: gateway.managementUrl,
    workers: 2,
  })
  t.match(await logged('stopping'), { reason: 'SIGTERM' })
  t.same(findFieldFaults(lines()), [])
})

t.test('each event of a gateway without workers has exactly its fields in the log', async (t) => {
  const { gateway, lines, logged } = await start(t, 1)
  process.kill(gateway.process.pid, 'SIGUSR2')
  await logged('no_workers')
  await end(gateway, logged)
  t.notOk('workers' in (await logged('listening')))
  t.same(findFieldFaults(lines()), [])
})
