import t from 'tap'
import type { WorkerEnd, WorkerProcess } from '../../../gateway/cluster/fork-worker.ts'
import type { SupervisorMessage } from '../../../gateway/cluster/worker-messages.ts'
import { restartDelayMs, WorkerPool } from '../../../gateway/cluster/worker-pool.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { until } from '../../fixtures/until.ts'

type FakeWorker = WorkerProcess & {
  readonly messages: SupervisorMessage[]
  become(url: string | undefined): void
  end(end: WorkerEnd): void
}

const CRASH: WorkerEnd = { code: undefined, signal: 'SIGKILL' }

/** The workers are simulations. A worker exits when it gets the message to stop. */
function aPool(workers: number) {
  const forked: FakeWorker[] = []
  const reasons: string[] = []
  const lines: Readonly<Record<string, unknown>>[] = []
  let replace: (worker: WorkerProcess, reason: string) => void = () => undefined
  const pool = new WorkerPool({
    workers,
    graceMs: 60_000,
    logger: createLogger(
      { level: 'info', service: 'gateway' },
      {
        write(line) {
          const { time: _, ...fields } = JSON.parse(line)
          lines.push(fields)
        },
      },
    ),
    onStarted: (reason) => reasons.push(reason),
    onExit: () => undefined,
    fork: (onReplace) => {
      replace = onReplace
      const ready = Promise.withResolvers<string | undefined>()
      const ended = Promise.withResolvers<WorkerEnd>()
      const messages: SupervisorMessage[] = []
      const worker: FakeWorker = {
        pid: forked.length + 1,
        ready: ready.promise,
        ended: ended.promise,
        lastMetrics: [],
        requestChecks: async () => undefined,
        requestSample: async () => undefined,
        requestMetrics: async () => undefined,
        policies: undefined,
        askConsole: async () => undefined,
        apply: async () => 'exited',
        probe: () => 1,
        describe: async () => undefined,
        setLogLevel: async () => undefined,
        messages,
        send(message) {
          messages.push(message)
          if (message.kind === 'stop') ended.resolve({ code: 0, signal: undefined })
        },
        kill: () => undefined,
        become: ready.resolve,
        end(end) {
          ready.resolve(undefined)
          ended.resolve(end)
        },
      }
      forked.push(worker)
      return worker
    },
  })
  const fork = (number: number): Promise<FakeWorker> =>
    until(`worker ${number} is forked`, async () => forked[number - 1])
  return { pool, forked, reasons, lines, fork, askToReplace: (worker: FakeWorker) => replace(worker, 'test') }
}

const URL = 'http://127.0.0.1:1'

t.test('a first worker that fails to start ends the pool with its exit code', async (t) => {
  const { pool, forked, fork } = aPool(3)
  const started = pool.start()
  ;(await fork(1)).end({ code: 3, signal: undefined })
  t.strictSame(await started, { code: 3, signal: undefined })
  t.equal(forked.length, 1)
})

t.test(
  'a rolling restart replaces workers one by one, and stops a worker only when its successor is ready',
  async (t) => {
    const { pool, forked, fork, reasons } = aPool(2)
    const started = pool.start()
    ;(await fork(1)).become(URL)
    ;(await fork(2)).become(URL)
    t.equal(await started, URL)
    const rolled = pool.roll()
    const third = await fork(3)
    t.strictSame(forked[0]?.messages, [], 'each worker stays until its successor is ready')
    third.become(URL)
    ;(await fork(4)).become(URL)
    await rolled
    t.strictSame(forked[0]?.messages, [{ kind: 'stop', how: 'handoff' }])
    t.strictSame(forked[1]?.messages, [{ kind: 'stop', how: 'handoff' }])
    t.strictSame(pool.serving, [forked[2], forked[3]])
    t.strictSame(reasons, ['start', 'start', 'roll', 'roll'])
    await pool.stop('immediate')
  },
)

t.test('a rolling restart stops when a new worker fails to start, and the old workers stay', async (t) => {
  const { pool, forked, fork } = aPool(2)
  const started = pool.start()
  ;(await fork(1)).become(URL)
  ;(await fork(2)).become(URL)
  await started
  const rolled = pool.roll()
  ;(await fork(3)).end({ code: 3, signal: undefined })
  await rolled
  t.equal(forked.length, 3)
  t.strictSame(pool.serving, [forked[0], forked[1]])
  await pool.stop('immediate')
})

t.test(
  'the pool replaces a worker that requests its replacement, unless the worker has already exited',
  async (t) => {
    const { pool, forked, fork, askToReplace } = aPool(1)
    const started = pool.start()
    const first = await fork(1)
    first.become(URL)
    await started
    askToReplace(first)
    askToReplace(first)
    const second = await fork(2)
    second.become(URL)
    await first.ended
    await until('the second has its place', async () => pool.serving[0] === second)
    askToReplace(first)
    await pool.stop('immediate')
    t.equal(forked.length, 2)
  },
)

t.test('a worker that crashes repeatedly does not count as ready', async (t) => {
  const { pool, fork, reasons } = aPool(1)
  const started = pool.start()
  const first = await fork(1)
  first.become(URL)
  await started
  t.equal(pool.serving.length, 1)
  first.end(CRASH)
  for (const number of [2, 3]) {
    const next = await fork(number)
    next.become(URL)
    await until('it serves', async () => pool.serving.length === 1)
    next.end(CRASH)
    await until('it is gone', async () => pool.serving.length === 0)
  }
  ;(await fork(4)).become(URL)
  t.equal(pool.serving.length, 0, 'the worker is up, but not yet considered stable')
  t.strictSame(reasons, ['start', 'crash', 'crash', 'crash'])
  await pool.stop('immediate')
})

t.test('each event of the pool has exactly these fields in the log', async (t) => {
  const { pool, fork, lines, askToReplace } = aPool(1)
  const started = pool.start()
  const first = await fork(1)
  first.become(URL)
  await started
  askToReplace(first)
  ;(await fork(2)).become(URL)
  await first.ended
  const rolled = pool.roll()
  ;(await fork(3)).become(URL)
  await rolled
  const failed = pool.roll()
  ;(await fork(4)).end({ code: 3, signal: undefined })
  await failed
  const third = pool.serving[0] as FakeWorker
  third.end(CRASH)
  await fork(5)
  await pool.stop('immediate')

  const common = { service: 'gateway' }
  const crash = { ...common, level: 'error', event: 'worker_crashed', msg: 'a worker exited unexpectedly' }
  t.strictSame(lines, [
    {
      ...common,
      level: 'warn',
      event: 'worker_leaves',
      pid: 1,
      reason: 'test',
      msg: 'a worker requests a successor',
    },
    { ...common, level: 'info', event: 'workers_replaced', msg: 'all workers were replaced' },
    {
      ...common,
      level: 'error',
      event: 'worker_not_replaced',
      pid: 3,
      msg: 'a new worker failed to start: the old workers stay; the error of the new worker is above this line',
    },
    { ...crash, pid: 3, signal: 'SIGKILL', restart_ms: 0 },
  ])

  const other = aPool(1)
  const begun = other.pool.start()
  const only = await other.fork(1)
  only.become(URL)
  await begun
  only.end({ code: 7, signal: undefined })
  await other.fork(2)
  await other.pool.stop('immediate')
  t.strictSame(other.lines, [{ ...crash, pid: 1, exit_code: 7, restart_ms: 0 }])
})

t.test('restartDelayMs() starts at 0, doubles, and is at most 10 s', async (t) => {
  t.strictSame([0, 1, 2, 3].map(restartDelayMs), [0, 100, 200, 400])
  t.equal(restartDelayMs(50), 10_000)
  t.equal(restartDelayMs(5_000), 10_000)
})
