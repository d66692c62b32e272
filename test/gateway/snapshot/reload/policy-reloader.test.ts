import t from 'tap'
import type { ApplyOutcome } from '../../../../gateway/snapshot/reload/policy-holder.ts'
import { createPolicyReloader } from '../../../../gateway/snapshot/reload/policy-reloader.ts'
import { diagnostic, wholeFile } from '../../../../platform/diagnostics/diagnostic.ts'
import { createAuditLog } from '../../../../platform/logging/audit-log.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import type { SourceState } from '../../../../policy-engine/load/load-policy-sources.ts'
import type { PolicySources } from '../../../../policy-engine/load/policy-sources.ts'

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
function start(options: { read?: () => string; apply?: (hash: string) => Promise<void> } = {}) {
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
    async apply({ hash }) {
      await options.apply?.(hash)
      counts.applied.push(hash)
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
  })
  return {
    reloader,
    counts,
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
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { reloader, counts, put } = start({
    apply: (hash) => (hash === 'good-1' ? held : Promise.resolve()),
  })
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

t.test('an internal error keeps the active policies, and the next reload works', async (t) => {
  let breaks = true
  const { reloader, counts, events, put } = start({
    async apply() {
      if (breaks) throw new Error('a defect')
    },
  })
  put('good-1')
  t.match(await reloader.reload('signal'), { result: 'broken', hash: 'good-0', diagnostics: [] })
  t.same(events(), ['policy_reload_broke'])
  t.equal(counts.failure, 1)
  breaks = false
  t.match(await reloader.reload('signal'), { result: 'applied', hash: 'good-1' })
})
