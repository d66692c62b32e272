import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { writeSoakConfig } from '../../../bench/soak/write-soak-config.ts'
import { applyToWorkers } from '../../../gateway/cluster/apply-to-workers.ts'
import { forkWorker, type WorkerProcess } from '../../../gateway/cluster/fork-worker.ts'
import { readPolicySources } from '../../../gateway/snapshot/reload/read-policy-sources.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { findFreePort } from '../../../platform/net/find-free-port.ts'
import { findFieldFaults } from '../../fixtures/find-field-faults.ts'
import { until } from '../../fixtures/until.ts'

/** The supervisor sends a probe each second. */
const PROBE_MS = 50

/** Starts two workers with the test as their supervisor. Returns new policies for them. */
async function startWorkers(t: Test) {
  const folder = t.testdir()
  writeSoakConfig({ folder, upstream: 'http://127.0.0.1:1', settings: { log: { level: 'silent' } } })
  const policiesDir = join(folder, 'policies')
  const locations = { policiesDir, scopesFile: join(folder, 'scopes.yaml'), presetsFile: undefined }
  const active = await readPolicySources(locations)
  process.env['SCOPEGATE_CONFIG_DIR'] = folder
  const port = await findFreePort('127.0.0.1')
  const init = { assertionKey: undefined, policies: active, validVersions: [] }
  const workers = [1, 2].map(() => forkWorker(port, init, () => undefined))
  delete process.env['SCOPEGATE_CONFIG_DIR']
  t.teardown(async () => {
    for (const worker of workers) worker.kill()
    await Promise.all(workers.map(({ ended }) => ended))
  })
  await Promise.all(workers.map(({ ready }) => ready))

  const policy = join(policiesDir, 'soak.policy.yaml')
  writeFileSync(policy, readFileSync(policy, 'utf8').replace('/pub/**', '/new/**'))
  const sources = await readPolicySources(locations)
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
