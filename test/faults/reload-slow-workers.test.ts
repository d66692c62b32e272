import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { findFieldFaults } from '../fixtures/find-field-faults.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

type Line = Readonly<Record<string, unknown>>

/** The tests share the gateway. */
const cleanup = createCleanup()
const config = join(t.testdir({ config: {} }), 'config')
t.teardown(() => cleanup.run())
const upstream = await startRecordingUpstream()
cleanup.add(upstream.close)
const log = join(t.testdirName, 'log')
const gateway = await startSoakGateway({
  folder: config,
  cleanup,
  upstream: upstream.url,
  settings: { workers: 2, policyReload: 'manual', debug: { policyHeader: true } },
  stdout: openSync(log, 'a'),
})
const policy = join(config, 'policies', 'soak.policy.yaml')
const text = JSON.stringify({
  ...JSON.parse(readFileSync(policy, 'utf8')),
  tests: [{ it: 'fails', request: { method: 'GET', path: '/none' }, expect: { decision: 'allow' } }],
})

const workers = () => childrenOf(gateway.process.pid)
const readyz = async () => (await send(`${gateway.managementUrl}/readyz?verbose`)).text
const isReady = async () => (await readyz()).includes('2 of 2 ready')
const lines = (): readonly Line[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Stops a process of a worker. The worker then counts as running and does not respond. */
function pause(t: Test, worker: number): void {
  process.kill(worker, 'SIGSTOP')
  t.teardown(() => {
    if (workers().includes(worker)) process.kill(worker, 'SIGCONT')
  })
}

/** Reloads policies with another path. */
function reload(path: string) {
  writeFileSync(policy, text.replace('/pub/**', `${path}/**`))
  return send(`${gateway.managementUrl}/reload`, { method: 'POST' })
}

/** Returns the policy versions of responses on new connections, which alternate between the workers. */
async function versions(): Promise<readonly (string | null)[]> {
  const responses = Array.from({ length: 8 }, () =>
    send(`${gateway.url}/x`, { headers: { connection: 'close' } }),
  )
  const seen = (await Promise.all(responses)).map(({ headers }) => headers.get('x-scopegate-policy'))
  return [...new Set(seen)]
}

t.test('the next worker replies if a worker does not reply to the console or to GET /policies', async (t) => {
  const { json } = await reload('/asked')
  const [first = 0] = workers()
  pause(t, first)
  const policies = await send(`${gateway.managementUrl}/policies`)
  t.match(policies, { status: 200, json: { hash: json['hash'] } })
  t.match((await send(`${gateway.managementUrl}/console/routes?format=json`)).json, {
    hash: json['hash'],
    tests: { passed: 0, failed: 1 },
    testsWithoutRoute: { failed: 1, tests: [{ it: 'fails' }] },
  })
})

t.test(
  'a reload waits for a paused worker, and a worker that starts meanwhile gets the policies of this reload',
  async (t) => {
    await until('both workers are ready', isReady)
    const [slow = 0, victim = 0] = workers()
    pause(t, slow)
    const report = reload('/restarted')
    await until('the victim has activated the policies', async () =>
      (await send(`${gateway.managementUrl}/policies`)).text.includes('/restarted/**'),
    )
    process.kill(victim, 'SIGKILL')
    await until('a new worker is ready', async () => {
      const [, successor] = workers()
      return successor !== undefined && successor !== victim && (await readyz()).includes('1 of 2 ready')
    })
    process.kill(slow, 'SIGCONT')
    const { json } = await report
    const [, successor] = workers()
    t.match(json['workers'], [
      { pid: slow, result: 'applied' },
      { pid: victim, result: 'applied' },
      { pid: successor, result: 'applied' },
    ])
    t.same(await versions(), [String(json['hash']).slice(0, 12)])
    t.same(findFieldFaults(lines()), [])
  },
)
