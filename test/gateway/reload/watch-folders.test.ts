import { EventEmitter } from 'node:events'
import type { FSWatcher } from 'node:fs'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type FolderWatchOptions, watchFolders } from '../../../gateway/reload/watch-folders.ts'
import { createLogger } from '../../../runtime/logger.ts'
import { aConfigMap } from '../../fixtures/a-config-map.ts'
import { until } from '../../fixtures/until.ts'

const NEVER_MS = 1_000_000

function start(t: Test, dir: string, options: Partial<FolderWatchOptions> = {}) {
  let looks = 0
  const lines: string[] = []
  const watch = watchFolders({
    dirs: [dir, dir],
    onChange: async () => {
      looks += 1
    },
    logger: createLogger({ level: 'info', service: 'test' }, { write: (line) => lines.push(line) }),
    quietMs: 20,
    lookEveryMs: NEVER_MS,
    missingEveryMs: 20,
    ...options,
  })
  t.teardown(() => watch.close())
  return {
    watch,
    lines,
    /** Waits for a look after `act`. */
    async noticed(what: string, act: () => void): Promise<void> {
      await wait(100) // what came before has been looked at
      const before = looks
      act()
      await until(what, async () => looks > before)
    },
    get looks() {
      return looks
    },
  }
}

t.test('files that are written, replaced, added and removed are noticed, and swapped volumes', async (t) => {
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

t.test('many changes in a row are one', async (t) => {
  const dir = t.testdir()
  const watched = start(t, dir, { quietMs: 200 })
  await until('the first look', async () => watched.looks >= 2)
  const before = watched.looks
  await watched.noticed('the changes', () => {
    for (let file = 0; file < 100; file++) writeFileSync(join(dir, `${file}`), 'x')
  })
  t.equal(watched.looks, before + 1)
})

t.test(
  'a folder that is deleted is watched again when it is back; so is one whose link is turned',
  async (t) => {
    const parent = t.testdir({ one: { a: '1' }, two: { a: '2' } })
    const dir = join(parent, 'one')
    const watched = start(t, dir)
    await watched.noticed('deleted', () => rmSync(dir, { recursive: true }))
    await watched.noticed('back', () => mkdirSync(dir))
    await watched.noticed('written in the new one', () => writeFileSync(join(dir, 'a'), '2'))
    t.same(watched.lines, [])

    const link = join(parent, 'link')
    symlinkSync('one', link)
    const linked = start(t, link, { lookEveryMs: 50 })
    await until('the first look', async () => linked.looks > 1)
    symlinkSync('two', join(parent, 'link2'))
    renameSync(join(parent, 'link2'), link)
    await wait(150)
    await linked.noticed('written where it leads now', () => writeFileSync(join(parent, 'two', 'a'), '3'))
  },
)

t.test('where the system gives no watch, it is looked regularly, and the log says so once', async (t) => {
  const dir = t.testdir()
  const fails = start(t, dir, {
    lookEveryMs: 20,
    watch: () => {
      throw Object.assign(new Error('no space left for watches'), { code: 'ENOSPC' })
    },
  })
  await until('looks', async () => fails.looks > 3)
  t.equal(fails.lines.length, 1)
  t.match(JSON.parse(fails.lines[0] ?? ''), {
    event: 'policy_watch_unavailable',
    reason: 'ENOSPC',
    level: 'warn',
  })

  const broken = new EventEmitter() as FSWatcher
  broken.close = () => undefined
  const breaks = start(t, dir, { lookEveryMs: 20, watch: () => broken })
  await until('the first look', async () => breaks.looks > 0)
  broken.emit('error', Object.assign(new Error('it broke'), { code: 'EIO' }))
  await breaks.noticed('another look', () => undefined)
  t.equal(breaks.lines.length, 1)
})

t.test('nothing is heard of a watch that was closed', async (t) => {
  const dir = t.testdir()
  const watched = start(t, dir, { lookEveryMs: 20 })
  await until('the first look', async () => watched.looks > 0)
  watched.watch.close()
  await wait(50)
  const { looks } = watched
  writeFileSync(join(dir, 'a'), '1')
  await wait(150)
  t.equal(watched.looks, looks)
})
