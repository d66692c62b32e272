import { readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { applyToWorkers } from '../../../gateway/cluster/apply-to-workers.ts'
import type { WorkerProcess } from '../../../gateway/cluster/fork-worker.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { findFieldFaults } from '../../fixtures/find-field-faults.ts'
import { forkWorkers } from '../../fixtures/fork-workers.ts'
import { until } from '../../fixtures/until.ts'

/** The supervisor sends a probe each second. */
const PROBE_MS = 50

/** Starts two workers. Returns new policies for them. */
async function startWorkers(t: Test) {
  const { workers, active, policy, readSources } = await forkWorkers(t, 2)
  await Promise.all(workers.map(({ ready }) => ready))
  writeFileSync(policy, readFileSync(policy, 'utf8').replace('/pub/**', '/new/**'))
  const sources = await readSources()
  const lines: Readonly<Record<string, unknown>>[] = []
  const logger = createLogger(
    { level: 'info', service: 'gateway' },
    { write: (line) => lines.push(JSON.parse(line)) },
  )
  const [first, second] = workers as [WorkerProcess, WorkerProcess]
  return {
    first,
    second,
    lines,
    hash: sources.hash,
    apply: () => applyToWorkers(sources, { ready: () => workers, active, logger, probeMs: PROBE_MS }),
  }
}

const signal = ({ pid = 0 }: WorkerProcess, name: NodeJS.Signals) => process.kill(pid, name)

t.test('a reload waits for workers that are paused and continue', async (t) => {
  const { first, second, hash, lines, apply } = await startWorkers(t)
  for (const worker of [first, second]) signal(worker, 'SIGSTOP')
  const applied = apply()
  const waits = await until('the log shows that the reload waits', async () => lines[0])
  t.match(waits, { level: 'warn', event: 'policy_reload_waits', pids: [first.pid, second.pid] })
  for (const worker of [first, second]) signal(worker, 'SIGCONT')
  t.match(await applied, {
    outcome: { result: 'applied', hash },
    workers: [
      { pid: first.pid, result: 'applied', hash },
      { pid: second.pid, result: 'applied', hash },
    ],
  })
  t.match([first.policies, second.policies], [{ hash }, { hash }])
  t.equal(first.probe(), 1, 'each message of a worker starts the count of probes again')
  t.same(findFieldFaults(lines), [])
})

t.test('a reload kills a worker that does not respond, and has the result of the other worker', async (t) => {
  const { first, second, hash, lines, apply } = await startWorkers(t)
  signal(first, 'SIGSTOP')
  t.match(await apply(), {
    outcome: { result: 'applied', hash },
    workers: [
      { pid: first.pid, result: 'failed', hash: undefined },
      { pid: second.pid, result: 'applied', hash },
    ],
  })
  t.match(await first.ended, { signal: 'SIGKILL' })
  const unresponsive = lines.find(({ event }) => event === 'worker_unresponsive')
  t.match(unresponsive, { level: 'error', pid: first.pid })
  t.same(findFieldFaults(lines), [])
})
