import t from 'tap'
import type { ApplyOutcome } from '../../../../gateway/snapshot/reload/policy-holder.ts'
import {
  type AppliedEverywhere,
  createPolicyReloader,
} from '../../../../gateway/snapshot/reload/policy-reloader.ts'
import { diagnostic, wholeFile } from '../../../../platform/diagnostics/diagnostic.ts'
import { createAuditLog } from '../../../../platform/logging/audit-log.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import type { SourceState } from '../../../../policy-engine/load/load-policy-sources.ts'
import type { PolicySources } from '../../../../policy-engine/load/policy-sources.ts'
import { until } from '../../../fixtures/until.ts'

const sourcesOf = (hash: string): PolicySources => ({
  folder: { names: [] },
  files: [],
  scopes: undefined,
  presets: undefined,
  hash,
})
const PROBLEMS = [diagnostic('P101', 'unknown key', wholeFile('a.policy.yaml'))]

const KEPT: SourceState = {
  name: 'billing',
  owner: 'team-billing',
  state: 'kept',
  version: 'v1',
  routes: 1,
  pathPrefixes: ['/billing'],
  errors: PROBLEMS,
}

/**
 * The reloader reads a simulated disk. Content that begins with `bad` is an invalid policy. Content that begins with
 * `kept` makes one policy source invalid.
 */
function start(
  options: {
    read?: () => string
    apply?: (hash: string) => Promise<AppliedEverywhere | undefined>
    retryMs?: number | undefined
  } = {},
) {
  const counts = { success: 0, failure: 0, restored: 0, applied: [] as string[], reads: 0 }
  const lines: Record<string, unknown>[] = []
  const logger = createLogger(
    { level: 'info', service: 'test' },
    { write: (line) => lines.push(JSON.parse(line)) },
  )
  let disk = 'good-0'
  const reloader = createPolicyReloader({
    active: { sources: sourcesOf('good-0'), routes: 1 },
    async read() {
      counts.reads += 1
      return sourcesOf(options.read?.() ?? disk)
    },
    async apply({ hash }, { startWithOne }) {
      counts.applied.push(startWithOne ? `one worker: ${hash}` : hash)
      const applied = await options.apply?.(hash)
      if (applied !== undefined) return applied
      const outcome: ApplyOutcome = hash.startsWith('bad')
        ? { result: 'broken', hash, problems: PROBLEMS }
        : { result: 'applied', hash, routes: 2, warnings: [], sources: hash.startsWith('kept') ? [KEPT] : [] }
      return { outcome }
    },
    meter: {
      reloaded(result) {
        counts[result] += 1
      },
      restored() {
        counts.restored += 1
      },
    },
    logger,
    audit: createAuditLog(logger),
    settleMs: 1,
    retryMs: options.retryMs,
  })
  return {
    reloader,
    counts,
    lines,
    events: () => lines.map(({ event }) => event),
    put(hash: string) {
      disk = hash
    },
  }
}

t.test('a file that is invalid while it is written causes no report', async (t) => {
  const contents = ['bad-half', 'bad-half-more', 'good-1', 'good-1']
  const { reloader, counts, events } = start({ read: () => contents.shift() ?? 'good-1' })
  t.match(await reloader.reload('signal'), { result: 'applied', hash: 'good-1', previousHash: 'good-0' })
  t.same(counts, { success: 1, failure: 0, restored: 0, applied: ['bad-half', 'good-1'], reads: 5 })
  t.same(events(), ['policy_reloaded', 'audit'])
})

t.test('files that change during a reload are read and applied again', async (t) => {
  const contents = ['good-half', 'good-more', 'good-1']
  const { reloader, counts, events } = start({ read: () => contents.shift() ?? 'good-1' })
  t.match(await reloader.reload('endpoint'), { result: 'applied', hash: 'good-1', previousHash: 'good-half' })
  t.same(counts.applied, ['good-half', 'good-1'])
  t.same(events(), ['policy_reloaded', 'audit', 'policy_reloaded', 'audit'])
  t.match(await reloader.reload('endpoint'), { hash: 'good-1' })
  t.same(counts.applied, ['good-half', 'good-1', 'good-1'], 'files without a change are applied once')
})

t.test('a reload that makes a source invalid is repeated when the writer has finished', async (t) => {
  const contents = ['kept-half', 'good-1']
  const { reloader, counts } = start({ read: () => contents.shift() ?? 'good-1' })
  t.match(await reloader.reload('signal'), { result: 'applied', hash: 'good-1', sources: [] })
  t.same(counts.applied, ['kept-half', 'good-1'])
})

t.test('a watch waits for two equal reads, and checks each content once', async (t) => {
  const { reloader, counts, put } = start()
  await reloader.reload('watch')
  t.same(counts.applied, [], 'no change')
  put('good-1')
  await reloader.reload('watch')
  put('bad-1')
  await reloader.reload('watch')
  await reloader.reload('watch')
  t.same(counts.applied, ['good-1', 'bad-1'], 'the same invalid content is not checked again')
  t.match(reloader.checks()[0], {
    ok: true,
    degraded: true,
    detail: /2 routes, good-1 .*a\.policy\.yaml: error\[P101\]/,
  })
  put('good-1')
  await reloader.reload('watch')
  t.match(counts, { success: 1, failure: 1, restored: 1 })
  t.match(reloader.checks()[0], { detail: '2 routes, good-1' })
  t.equal(reloader.active.hash, 'good-1')
})

t.test('on a disk that changes constantly, the watch uses its last read', async (t) => {
  let look = 0
  const { reloader } = start({ read: () => `good-${++look}` })
  t.match(await reloader.reload('watch'), { result: 'applied' })
})

t.test('reloads run one at a time, and concurrent reload requests share the next reload', async (t) => {
  let release: () => void = () => undefined
  const held = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined)
  })
  const { reloader, counts, put } = start({ apply: async (hash) => (hash === 'good-1' ? held : undefined) })
  put('good-1')
  const first = reloader.reload('endpoint')
  await new Promise(setImmediate)
  put('good-2')
  const others = Array.from({ length: 100 }, () => reloader.reload('endpoint'))
  release()
  t.match(await first, { hash: 'good-2' }, 'the files changed during this reload')
  const reports = await Promise.all(others)
  t.equal(new Set(reports).size, 1)
  t.match(reports[0], { result: 'applied', hash: 'good-2' })
  t.same(counts.applied, ['good-1', 'good-2', 'good-2'])
})

t.test('a defect keeps the active policies, and the next reload works', async (t) => {
  let breaks = true
  const { reloader, counts, lines, put } = start({
    async apply() {
      if (breaks) throw new Error('a defect')
      return undefined
    },
  })
  put('good-1')
  t.match(await reloader.reload('signal'), {
    result: 'not_checked',
    failure: 'internal_error',
    hash: 'good-0',
    diagnostics: [],
  })
  t.match(lines, [
    {
      level: 'error',
      event: 'policy_reload_internal_error',
      asked_by: 'signal',
      policy_hash: 'good-0',
      err: { message: 'a defect' },
      remedy: /Report the error/,
    },
  ])
  t.equal(counts.failure, 1)
  breaks = false
  t.match(await reloader.reload('signal'), { result: 'applied', hash: 'good-1', failure: undefined })
})

const EXITED: AppliedEverywhere = {
  outcome: { result: 'not_checked', failure: 'workers_exited' },
  workers: [{ pid: 7, result: 'failed', hash: undefined }],
}

t.test('policies that the workers could not check are not reported as invalid', async (t) => {
  const { reloader, counts, lines, events, put } = start({
    apply: async (hash) => (hash === 'good-1' ? EXITED : undefined),
  })
  put('good-1')
  t.match(await reloader.reload('endpoint'), {
    result: 'not_checked',
    failure: 'workers_exited',
    workers: EXITED.workers,
  })
  t.match(lines, [
    {
      level: 'error',
      event: 'policy_reload_workers_exited',
      asked_by: 'endpoint',
      policy_hash: 'good-0',
      unchecked_policy_hash: 'good-1',
      pids: [7],
      remedy: /worker_crashed/,
    },
  ])
  t.match(reloader.failure, { problems: [], unchecked: 'workers_exited' })
  t.match(reloader.checks()[0], {
    ok: true,
    degraded: true,
    detail: /^1 routes, good-0 stay active; the last reload failed: Each worker .* exited/,
  })

  put('bad-1')
  t.match(await reloader.reload('endpoint'), { result: 'broken', failure: undefined })
  t.match(reloader.failure, { problems: PROBLEMS, unchecked: undefined })

  put('good-1')
  t.match(await reloader.reload('endpoint'), { result: 'not_checked' })
  put('good-0')
  t.match(await reloader.reload('watch'), { result: 'unchanged', failure: undefined })
  t.equal(reloader.failure, undefined)
  t.match(counts, { failure: 3, restored: 1 })
  t.equal(events().at(-1), 'policy_restored')
})

t.test(
  'the watch tries policies that ended the workers again after a pause, and other policies at once',
  async (t) => {
    for (const [retryMs, tried] of [
      [undefined, ['fatal-1', 'fatal-2', 'one worker: fatal-2']],
      [0, ['fatal-1', 'one worker: fatal-1', 'fatal-2', 'one worker: fatal-2']],
    ] as const) {
      const { reloader, counts, events, put } = start({ apply: async () => EXITED, retryMs })
      put('fatal-1')
      for (let times = 0; times < 2; times++)
        t.match(await reloader.reload('watch'), { result: 'not_checked', failure: 'workers_exited' })
      put('fatal-2')
      await reloader.reload('watch')
      await reloader.reload('endpoint')
      t.same(counts.applied, tried)
      t.equal(events().length, tried.length)
    }
  },
)

t.test('a reload without a ready worker is not a failure of the active policies', async (t) => {
  const { reloader, counts, events } = start({
    apply: async () => ({ outcome: { result: 'not_checked', failure: 'no_worker_ready' }, workers: [] }),
  })
  t.match(await reloader.reload('endpoint'), { result: 'not_checked', failure: 'no_worker_ready' })
  t.same(events(), ['policy_reload_no_worker'])
  t.equal(counts.failure, 0)
  t.match(reloader.checks()[0], { detail: '1 routes, good-0' })
})

t.test('invalid files that are corrected during the reload are not reported', async (t) => {
  const contents = ['bad-1', 'bad-1', 'bad-1']
  const { reloader } = start({ read: () => contents.shift() ?? 'good-0' })
  t.match(await reloader.reload('endpoint'), { result: 'unchanged', hash: 'good-0', diagnostics: [] })
  t.equal(reloader.failure, undefined)
})

/** Starts a reload that waits until the test calls `release()`. */
async function startHeld() {
  const { promise, resolve } = Promise.withResolvers<AppliedEverywhere | undefined>()
  const started = start({ apply: () => promise })
  started.put('good-1')
  const first = started.reloader.reload('endpoint')
  await until('the reload runs', async () => started.counts.applied.length === 1)
  return { ...started, first, release: resolve }
}

t.test(
  'a signal during a reload gets its log line, also if the watch has requested the next one',
  async (t) => {
    const { reloader, first, release, events } = await startHeld()
    const others = [reloader.reload('watch'), reloader.reload('signal'), reloader.reload('watch')]
    release(undefined)
    await first
    const [watched, signalled] = await Promise.all(others)
    t.equal(watched, signalled)
    t.same(events(), ['policy_reloaded', 'audit', 'policy_reloaded', 'audit'])
  },
)

t.test('close() ends the wait of all callers, and the running reload adds no failure', async (t) => {
  const { reloader, first, release, counts, lines, events } = await startHeld()
  const next = reloader.reload('signal')
  reloader.close()
  const stopped = { result: 'not_checked', failure: 'stopping', hash: 'good-0' }
  t.match(await first, stopped)
  t.match(await next, stopped)
  t.match(await reloader.reload('watch'), stopped)
  t.match(lines, [
    { level: 'info', event: 'policy_reload_stopped', asked_by: 'endpoint', remedy: /at its start/ },
    { level: 'info', event: 'policy_reload_stopped', asked_by: 'signal' },
  ])
  release(EXITED)
  await new Promise(setImmediate)
  t.equal(events().length, 2, 'the watch and the exit of the workers add no line')
  t.equal(counts.failure, 0)
})
