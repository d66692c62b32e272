import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { createCleanup } from '../../../bench/cleanup.ts'
import { childrenOf } from '../../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../../bench/soak/start-soak-gateway.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'

const skip = process.platform === 'linux' ? false : 'the gateway lowers priorities on Linux only'

for (const workers of [1, 2]) {
  t.test(
    `the gateway lowers the priority of V8's helper threads only, with workers: ${workers}`,
    { skip },
    async (t) => {
      const cleanup = createCleanup()
      t.teardown(() => cleanup.run())
      const gateway = await startSoakGateway({
        folder: t.testdir(),
        cleanup,
        upstream: 'http://127.0.0.1:1',
        settings: { workers },
      })
      const { pid } = gateway.process
      const pids = [pid, ...childrenOf(pid)]
      t.equal(pids.length, workers === 1 ? 1 : 1 + workers)
      for (const process of pids) {
        const threads = threadsOf(process)
        const helpers = threads.filter(({ name }) => name === 'V8Worker')
        t.ok(helpers.length > 0, 'this version of Node.js names the threads')
        for (const { nice } of helpers) t.equal(nice, Math.max(10, getPriority()))
        for (const { name, nice } of threads) if (name !== 'V8Worker') t.equal(nice, getPriority(), name)
      }
    },
  )
}

t.test(
  'the gateway does not raise the priority of helper threads when the process has a nice value of 15',
  { skip },
  async (t) => {
    const source = join(findPackageRoot(), 'platform', 'process', 'lower-helper-priority.ts')
    const script = `import { lowerHelperPriority } from ${JSON.stringify(pathToFileURL(source).href)}
      lowerHelperPriority()
      console.log('done')
      process.stdin.resume()`
    const niceNode = ['-n', '15', process.execPath, '--input-type=module', '--eval', script]
    const child = spawn('nice', niceNode, { stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const nice = getPriority(child.pid)
    t.ok(nice >= 15)
    const helpers = threadsOf(Number(child.pid)).filter(({ name }) => name === 'V8Worker')
    t.ok(helpers.length > 0)
    for (const helper of helpers) t.equal(helper.nice, nice)
  },
)

/** Source: proc(5), field 19 of `stat`. */
function threadsOf(pid: number): { readonly name: string; readonly nice: number }[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const end = stat.lastIndexOf(')')
    return { name: stat.slice(stat.indexOf('(') + 1, end), nice: Number(stat.slice(end + 2).split(' ')[16]) }
  })
}
