import t from 'tap'
import { applyToWorkers, type PolicyWorker } from '../../../gateway/cluster/apply-to-workers.ts'
import type { ApplyOutcome } from '../../../gateway/snapshot/reload/policy-holder.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import type { PolicySources } from '../../../policy-engine/load/policy-sources.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

const ACTIVE = { hash: 'old' } as PolicySources
const SOURCES = { hash: 'new' } as PolicySources

const valid = { routes: 1, warnings: [], sources: [] }
const applied = ({ hash }: PolicySources): ApplyOutcome => ({ result: 'applied', hash, ...valid })
const unchanged = ({ hash }: PolicySources): ApplyOutcome => ({ result: 'unchanged', hash, ...valid })
const broken = ({ hash }: PolicySources): ApplyOutcome => ({
  result: 'broken',
  hash,
  problems: [diagnostic('P101', 'unknown key', wholeFile('a.policy.yaml'))],
})

type Reply = ApplyOutcome | 'exited' | 'defect'

/** Simulates a worker. */
function aWorker(pid: number, reply: (sources: PolicySources) => Reply) {
  const given: string[] = []
  const worker: PolicyWorker = {
    pid,
    async apply(sources) {
      given.push(sources.hash)
      return reply(sources)
    },
    probe: () => 1,
    kill: () => undefined,
  }
  return { worker, given }
}

const exited = (): Reply => 'exited'

const applyTo = (
  ready: () => readonly PolicyWorker[],
  options: { readonly probeMs?: number; readonly startWithOne?: boolean } = {},
) =>
  applyToWorkers(SOURCES, {
    ready,
    active: ACTIVE,
    ...options,
    logger: SILENT_LOGGER,
  })

t.test('a worker that has applied invalid policies gets the active policies again', async (t) => {
  const workers = [aWorker(1, applied), aWorker(2, broken)]
  t.match(await applyTo(() => workers.map(({ worker }) => worker)), {
    outcome: { result: 'broken', hash: 'new' },
    workers: [
      { pid: 1, result: 'applied', hash: 'old' },
      { pid: 2, result: 'broken' },
    ],
  })
  t.same(
    workers.map(({ given }) => given),
    [['new', 'old'], ['new']],
  )
})

t.test('a worker that responds to probes is not killed, even if it needs more than 60 probes', async (t) => {
  const { promise, resolve } = Promise.withResolvers<ApplyOutcome>()
  let probes = 0
  const slow: PolicyWorker = {
    pid: 1,
    apply: () => promise,
    probe() {
      probes += 1
      if (probes > 100) resolve(applied(SOURCES))
      return 1
    },
    kill: () => t.fail('the worker responds'),
  }
  t.match(await applyTo(() => [slow], { probeMs: 1 }), { outcome: { result: 'applied' } })
})

t.test('a worker that exits does not change the result, and its successor gets the policies', async (t) => {
  const [first, exiting, successor] = [aWorker(1, applied), aWorker(2, exited), aWorker(3, applied)]
  const ready = () =>
    exiting.given.length === 0 ? [first.worker, exiting.worker] : [first.worker, successor.worker]
  t.match(await applyTo(ready), {
    outcome: { result: 'applied' },
    workers: [
      { pid: 1, result: 'applied' },
      { pid: 2, result: 'failed', hash: undefined },
      { pid: 3, result: 'applied' },
    ],
  })
})

t.test('policies that end all workers are not sent to the next workers', async (t) => {
  let next = 0
  const started: ReturnType<typeof aWorker>[] = []
  const ready = () => {
    const one = aWorker(++next, exited)
    started.push(one)
    return [one.worker]
  }
  t.match(await applyTo(ready), {
    outcome: { result: 'not_checked', failure: 'workers_exited' },
    workers: [{ pid: 1, result: 'failed', hash: undefined }],
  })
  t.same(
    started.map(({ given }) => given),
    [['new']],
  )
})

t.test('a defect in the workers, and missing workers, are other causes than an exit', async (t) => {
  const workers = [aWorker(1, exited), aWorker(2, () => 'defect')]
  t.match(await applyTo(() => workers.map(({ worker }) => worker)), {
    outcome: { result: 'not_checked', failure: 'internal_error' },
    workers: [
      { pid: 1, result: 'failed' },
      { pid: 2, result: 'failed' },
    ],
  })
  t.same(await applyTo(() => []), {
    outcome: { result: 'not_checked', failure: 'no_worker_ready' },
    workers: [],
  })
})

t.test(
  'a worker that had the new policies before gets the active policies if they are invalid',
  async (t) => {
    const replaced = aWorker(1, (sources) => (sources === SOURCES ? unchanged(sources) : applied(sources)))
    const old = aWorker(2, broken)
    t.match(await applyTo(() => [replaced.worker, old.worker]), {
      outcome: { result: 'broken' },
      workers: [
        { pid: 1, result: 'applied', hash: 'old' },
        { pid: 2, result: 'broken' },
      ],
    })
    t.same(replaced.given, ['new', 'old'])
  },
)

t.test(
  'with startWithOne, the other workers get the policies only if one worker has checked them',
  async (t) => {
    for (const [reply, expected] of [
      [applied, ['new']],
      [broken, ['new']],
      [exited, []],
    ] as const) {
      const workers = [aWorker(1, reply), aWorker(2, applied)]
      await applyTo(() => workers.map(({ worker }) => worker), { startWithOne: true })
      t.same(workers[1]?.given.slice(0, 1), expected)
    }
  },
)
