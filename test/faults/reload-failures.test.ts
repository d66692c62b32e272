import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf, whenServing } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { findFieldFaults } from '../fixtures/find-field-faults.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

type Line = Readonly<Record<string, unknown>>

/** Kills a worker that gets policies with the path `/fatal`, and makes policies with the path `/defect` unusable. */
const FAULTY_WORKERS = `
const emit = process.emit
process.emit = function (event, message, ...others) {
  if (event === 'message' && message?.kind === 'apply') {
    const text = JSON.stringify(message)
    if (text.includes('/fatal')) process.kill(process.pid, 'SIGKILL')
    if (text.includes('/defect')) message.sources = null
  }
  return emit.call(this, event, message, ...others)
}`

/** The tests share the gateway. */
const cleanup = createCleanup()
const config = join(t.testdir({ config: {} }), 'config')
t.teardown(() => cleanup.run())
const log = join(t.testdirName, 'log')
const gateway = await startSoakGateway({
  folder: config,
  cleanup,
  upstream: 'http://127.0.0.1:1',
  settings: { workers: 2, policyReload: 'manual' },
  stdout: openSync(log, 'a'),
  nodeOptions: ['--import', `data:text/javascript,${encodeURIComponent(FAULTY_WORKERS)}`],
})
const url = gateway.managementUrl
const policy = join(config, 'policies', 'soak.policy.yaml')
const text = readFileSync(policy, 'utf8')

const hash = async () => (await send(`${url}/policies`)).json['hash']
const success = async () =>
  /^scopegate_policy_reload_success (\d)/m.exec((await send(`${url}/metrics`)).text)?.[1]
const lines = (): readonly Line[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
const logged = (event: string) => until(event, async () => lines().find((line) => line['event'] === event))

async function reload(path: string) {
  writeFileSync(policy, text.replace('/pub/**', `${path}/**`))
  return send(`${url}/reload`, { method: 'POST' })
}

t.test('a reload during which all workers exit reports the cause and the remedy', async (t) => {
  const before = await hash()
  const cause = /^Each worker that got the policies exited before it had checked them/
  const remedy = /worker_crashed.* memory.* reload again/
  t.match(await reload('/fatal'), {
    status: 503,
    json: {
      result: 'not_checked',
      error: 'policies_not_checked',
      error_description: new RegExp(`${cause.source}.*${remedy.source}`),
      hash: before,
      diagnostics: [],
      workers: [{ result: 'failed' }, { result: 'failed' }],
    },
  })
  t.match(await logged('policy_reload_workers_exited'), { level: 'error', asked_by: 'endpoint', remedy })
  await whenServing(gateway, { without: [], workers: 2 })
  t.equal(await hash(), before, 'the new workers have the earlier policies')
  t.equal(await success(), '0')
  t.match(
    (await send(`${url}/readyz?verbose`)).text,
    /\[!\] policies: .* stay active; .* Each worker .* exited/,
  )

  t.match((await send(`${url}/console/policies?format=json`)).json, {
    failure: { errors: { count: 0, first: null }, unchecked: { cause, remedy } },
  })
  const page = await send(`${url}/console/policies`)
  for (const shown of [cause.source.slice(1), 'give the gateway more memory'])
    t.match(page.text, new RegExp(shown))
  const problem = await until('the overview shows the problem', async () => {
    const { json } = await send(`${url}/?format=json`)
    return (json['problems'] as readonly Line[]).find(({ title }) => title === 'policies')
  })
  t.match(problem, { detail: /Each worker .* exited/, action: remedy, place: null })

  const workers = childrenOf(gateway.process.pid)
  const again = await reload('/fatal')
  t.equal(again.status, 503)
  t.match(again.json['workers'], [{ pid: workers[0], result: 'failed' }], 'only one worker got them again')
  t.ok(childrenOf(gateway.process.pid).includes(workers[1] ?? 0))
  await whenServing(gateway, { without: workers.slice(0, 1), workers: 2 })

  t.match(await reload('/pub'), { status: 200, json: { result: 'unchanged' } })
  t.equal(await success(), '1')
  t.match((await send(`${url}/readyz?verbose`)).text, /\[\+\] policies: /)
})

t.test('a reload that fails because of a defect of the workers has the status 500', async (t) => {
  await whenServing(gateway, { without: [], workers: 2 })
  t.match(await reload('/defect'), {
    status: 500,
    json: { result: 'not_checked', error: 'server_error', error_description: /Report the error/ },
  })
  t.match(await logged('policy_reload_internal_error'), { level: 'error', pids: [Number, Number] })
  t.match(await logged('uncaught_exception'), { level: 'error' })
  t.match(await reload('/corrected'), { status: 200, json: { result: 'applied' } })
  t.equal(await success(), '1')
  t.same(findFieldFaults(lines()), [])
})
