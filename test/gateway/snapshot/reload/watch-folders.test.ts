import { EventEmitter } from 'node:events'
import {
  type FSWatcher,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch as systemsWatch,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type FolderWatchOptions,
  startReloading,
  watchFolders,
} from '../../../../gateway/snapshot/reload/watch-folders.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { findPolicyFolders } from '../../../../policy-engine/load/policy-sources.ts'
import { aConfigMap } from '../../../fixtures/a-config-map.ts'
import { until } from '../../../fixtures/until.ts'

const NEVER_MS = 1_000_000

/** Watches a folder, and counts the watches, the reported changes and the checks. */
function start(t: Test, dir: string, options: Partial<FolderWatchOptions> = {}) {
  const counts = { looks: 0, watches: 0, heard: 0 }
  let looksBefore = 0
  const lines: string[] = []
  const watch = watchFolders({
    listDirs: () => [dir, dir],
    onChange: async () => {
      counts.looks += 1
    },
    watch(folder, how, listener) {
      counts.watches += 1
      return systemsWatch(folder, how, (...told) => {
        counts.heard += 1
        looksBefore = counts.looks
        listener(...told)
      })
    },
    logger: createLogger({ level: 'info', service: 'test' }, { write: (line) => lines.push(line) }),
    quietMs: 20,
    checkEveryMs: NEVER_MS,
    missingEveryMs: 20,
    ...options,
  })
  t.teardown(() => watch.close())
  const more = async (what: string, count: keyof typeof counts, act: () => void): Promise<void> => {
    const before = counts[count]
    act()
    await until(what, async () => counts[count] > before)
  }
  return {
    watch,
    lines,
    counts,
    more,
    /** Calls `act`, which makes a change. Waits until the system has reported the change and a check has run. */
    async noticed(what: string, act: () => void): Promise<void> {
      await until('the folder is watched', async () => counts.watches > 0)
      await more(`${what}: heard`, 'heard', act)
      await until(`${what}: looked at`, async () => counts.looks > looksBefore)
    },
  }
}

t.test('the watch detects written, replaced, added and removed files, and replaced volumes', async (t) => {
  const dir = t.testdir({ a: '1' })
  const { noticed } = start(t, dir)
  const file = join(dir, 'a')
  await noticed('written', () => writeFileSync(file, '2'))
  await noticed('replaced', () => {
    writeFileSync(join(dir, '.b'), '3')
    renameSync(join(dir, '.b'), file)
  })
  await noticed('added', () => writeFileSync(join(dir, 'c'), '4'))
  await noticed('removed', () => rmSync(file))
  const volumeDir = t.testdir({ volume: {} })
  const volume = aConfigMap(join(volumeDir, 'volume'), { a: '1' })
  const other = start(t, join(volumeDir, 'volume'))
  await other.noticed('swapped', () => volume.swap({ a: '2' }))
  await other.noticed('swapped again', () => volume.swap({ a: '3' }))
})

t.test('many successive changes cause one report', async (t) => {
  const dir = t.testdir()
  const watched = start(t, dir, { quietMs: 200 })
  await until('the first checks', async () => watched.counts.looks === 2)
  await watched.noticed('the changes', () => {
    for (let file = 0; file < 100; file++) writeFileSync(join(dir, `${file}`), 'x')
  })
  await watched.noticed('one more', () => writeFileSync(join(dir, 'more'), 'x'))
  t.equal(watched.counts.looks, 4)
})

t.test('a folder is watched again when it exists again, or when its symbolic link changes', async (t) => {
  const parent = t.testdir({ one: { a: '1' }, two: { a: '2' } })
  const dir = join(parent, 'one')
  const watched = start(t, dir)
  await watched.noticed('deleted', () => rmSync(dir, { recursive: true }))
  await watched.more('back', 'watches', () => mkdirSync(dir))
  await watched.noticed('written in the new one', () => writeFileSync(join(dir, 'a'), '2'))
  t.same(watched.lines, [])

  const link = join(parent, 'link')
  symlinkSync('one', link)
  const linked = start(t, link, { checkEveryMs: 50 })
  await until('the folder is watched', async () => linked.counts.watches === 1)
  symlinkSync('two', join(parent, 'link2'))
  await linked.more('turned', 'watches', () => renameSync(join(parent, 'link2'), link))
  await linked.noticed('written where it leads now', () => writeFileSync(join(parent, 'two', 'a'), '3'))
})

t.test('an unreadable folder is watched as soon as the permission exists', async (t) => {
  const dir = t.testdir()
  let isReadable = false
  const watched = start(t, dir, {
    watch: (folder, how, listener) => {
      if (!isReadable) throw Object.assign(new Error('permission denied'), { code: 'EACCES' })
      watched.counts.watches += 1
      return systemsWatch(folder, how, listener)
    },
  })
  await until('two checks without the permission', async () => watched.counts.looks > 1)
  isReadable = true
  await until('the folder is watched', async () => watched.counts.watches === 1)
  t.same(watched.lines, [], 'the read of the folder reports the error')
})

t.test('without a file system watch the folder is polled, and the log reports this once', async (t) => {
  const dir = t.testdir()
  const fails = start(t, dir, {
    checkEveryMs: 20,
    watch: () => {
      throw Object.assign(new Error('no space left for watches'), { code: 'ENOSPC' })
    },
  })
  await until('looks', async () => fails.counts.looks > 3)
  t.equal(fails.lines.length, 1)
  t.match(JSON.parse(fails.lines[0] ?? ''), {
    event: 'policy_watch_unavailable',
    reason: 'ENOSPC',
    level: 'warn',
  })

  const broken = new EventEmitter() as FSWatcher
  broken.close = () => undefined
  const breaks = start(t, dir, { checkEveryMs: 20, watch: () => broken })
  await until('the first check', async () => breaks.counts.looks > 0)
  broken.emit('error', Object.assign(new Error('the watch failed'), { code: 'EIO' }))
  await breaks.more('another look', 'looks', () => undefined)
  t.equal(breaks.lines.length, 1)
})

t.test('a closed watch reports nothing', async (t) => {
  const dir = t.testdir()
  const closed = start(t, dir, { checkEveryMs: 20 })
  const open = start(t, dir)
  await until('both folders are watched', async () => closed.counts.watches + open.counts.watches === 2)
  closed.watch.close()
  // When the system reports this change, all earlier events have arrived and no check is running.
  await open.noticed('what came before', () => writeFileSync(join(dir, 'a'), '1'))
  const { looks } = closed.counts
  for (const text of ['2', '3', '4']) await open.noticed(text, () => writeFileSync(join(dir, 'a'), text))
  t.equal(closed.counts.looks, looks)
})

t.test('nested folders are watched while they exist', async (t) => {
  const dir = t.testdir({ one: {} })
  const volume = aConfigMap(join(dir, 'one'), { a: '1' })
  const watched = start(t, dir, { listDirs: () => findPolicyFolders(dir) })
  await until('both folders are watched', async () => watched.counts.watches === 2)
  await watched.noticed('a swap in the nested folder', () => volume.swap({ a: '2' }))
  await watched.more('a new folder', 'watches', () => mkdirSync(join(dir, 'two')))
  await watched.noticed('a file in the new folder', () => writeFileSync(join(dir, 'two', 'a'), '1'))
  await watched.noticed('removed', () => rmSync(join(dir, 'two'), { recursive: true }))
  await watched.more('the folder again', 'watches', () => mkdirSync(join(dir, 'two')))
  t.same(watched.lines, [])
})

t.test('every policy folder is watched, also nested folders', async (t) => {
  const dir = t.testdir({ config: { 'scopes.yaml': '' }, policies: { one: {}, two: {}, '.hidden': {} } })
  const watched = new Set<string>()
  const end = startReloading(async () => undefined, {
    policiesDir: join(dir, 'policies'),
    scopesFile: join(dir, 'config', 'scopes.yaml'),
    presetsFile: join(dir, 'config', 'presets.yaml'),
    policyReload: 'watch',
    logger: createLogger({ level: 'info', service: 'test' }, { write: () => undefined }),
    watch(folder, how, listener) {
      watched.add(folder)
      return systemsWatch(folder, how, listener)
    },
  })
  t.teardown(end)
  await until('the watches', async () => watched.size >= 4)
  t.same(
    [...watched].toSorted(),
    ['config', 'policies', 'policies/one', 'policies/two'].map((name) => join(dir, name)),
  )
})

t.test('a new target of a link in the root of a policy source is a change', async (t) => {
  const root = t.testdir({ old: { policies: {} }, new: { policies: {} }, other: {} })
  symlinkSync('old', join(root, 'current'))
  const watched = new Set<string>()
  let reloads = 0
  const end = startReloading(async () => (reloads += 1), {
    ...{ policiesDir: '', scopesFile: undefined, presetsFile: undefined, policyReload: 'watch' },
    policySources: [
      { name: 'git', folder: join(root, 'current', 'policies'), root },
      { name: 'plain', folder: join(root, 'other') },
    ],
    logger: createLogger({ level: 'info', service: 'test' }, { write: () => undefined }),
    watch(folder, how, listener) {
      watched.add(folder)
      return systemsWatch(folder, how, listener)
    },
  })
  t.teardown(end)
  await until('the watches', async () => watched.size >= 3)
  t.same([...watched].toSorted(), [root, join(root, 'current', 'policies'), join(root, 'other')].toSorted())
  const before = reloads
  symlinkSync('new', join(root, 'tmp-link'))
  renameSync(join(root, 'tmp-link'), join(root, 'current'))
  await until('a reload', async () => reloads > before)
})
