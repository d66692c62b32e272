import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { until } from '../fixtures/until.ts'

const ROOT = findPackageRoot()
const RUNNER = join(ROOT, 'scripts/run-tests.js')
const IMPORT_TAP = `import t from '${join(ROOT, 'node_modules/tap/dist/esm/index.js')}'\n`
/** The first lines of a test file that starts a process. The process keeps the output of the test file open. */
const STARTS_PROCESS = `${IMPORT_TAP}import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const start = (options) => {
  const child = spawn('sleep', ['60'], { stdio: 'inherit', ...options })
  child.unref()
  writeFileSync(new URL('pid', import.meta.url), String(child.pid))
}
`
/** Maximum duration of the runner. The started process keeps the output open for a longer time. Milliseconds. */
const TIMEOUT_MS = 30_000

function run(...args: readonly string[]): { readonly status: number | null; readonly stdout: string } {
  return spawnSync(process.execPath, [RUNNER, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
  })
}

t.test('run-tests names each argument that matches no file, and runs no test', async (t) => {
  const args = ['test/oauth/scope.test.ts', 'test/oauth/scop.test.ts', 'test/oaut/*.test.ts', 'test/fixtures']
  const { status, stdout } = run(...args)
  t.equal(status, 1)
  t.same(stdout.split('\n'), [
    `tests: no file matches test/oauth/scop.test.ts in ${ROOT}`,
    `tests: no file matches test/oaut/*.test.ts in ${ROOT}`,
    `tests: no file matches test/fixtures in ${ROOT}`,
    '',
  ])
})

t.test('run-tests rejects an unknown option, and runs no test', async (t) => {
  const { status, stdout } = run('--time=9', 'test/oauth/scope.test.ts')
  t.equal(status, 1)
  t.equal(stdout, 'tests: unknown option --time=9\n')
})

t.test('run-tests reports each way in which a file fails, and runs the other files', async (t) => {
  const folder = t.testdir({
    'assertion.test.ts': `${IMPORT_TAP}t.fail('this assertion fails')`,
    'early-exit.test.ts': `${IMPORT_TAP}t.plan(2); t.pass('only one'); setTimeout(() => process.reallyExit(0))`,
    'empty.test.ts': '',
    'exit-code.test.ts': `${IMPORT_TAP}t.pass('well'); process.on('exit', () => process.reallyExit(7))`,
    'good.test.ts': `${IMPORT_TAP}t.test('a subtest', async (t) => { t.pass('one'); t.pass('two') })`,
    'signal.test.ts': `${IMPORT_TAP}t.pass('well'); process.on('exit', () => process.kill(process.pid, 'SIGKILL'))`,
    'syntax.test.ts': '}',
  })
  const { status, stdout } = run('--sum', join(folder, 'sum.json'), folder)
  const reports = stdout.split(/^(?= {2}ok |FAILED)/m)
  const reportOf = (name: string): string => {
    const report = reports.find((one) => one.split('\n')[0]?.includes(`/${name}.test.ts `)) ?? ''
    return report.replaceAll(relative(ROOT, folder), '')
  }
  t.equal(status, 1)
  t.match(
    reportOf('assertion'),
    /^FAILED .*not ok 1 - this assertion fails.*assertion.test.ts: exit code 1\n/s,
  )
  t.match(reportOf('early-exit'), /^FAILED .*early-exit.test.ts: the TAP output is incomplete/s)
  t.match(reportOf('empty'), /^FAILED .*empty.test.ts: the TAP output is incomplete, or contains no test\n/s)
  t.match(reportOf('exit-code'), /^FAILED .*exit-code.test.ts: exit code 7\n/s)
  t.match(reportOf('good'), /^ {2}ok {4}\/good.test.ts {2}\d+\.\d s\n/)
  t.match(reportOf('signal'), /^FAILED .*signal.test.ts: ended by SIGKILL\n/s)
  t.match(reportOf('syntax'), /^FAILED .*syntax.test.ts: exit code 1\n/s)
  const { passed, failed } = JSON.parse(readFileSync(join(folder, 'sum.json'), 'utf8'))
  t.equal(failed, 6)
  t.ok(passed >= 2)
})

const SHARES_PROCESS = "import t from 'tap'\n"

t.test(
  'run-tests reports each file that fails in a shared process, and runs the files after it',
  async (t) => {
    const folder = t.testdir({
      'assertion.test.ts': `${SHARES_PROCESS}t.test('a subtest', async (t) => { t.fail('this assertion fails') })`,
      'empty.test.ts': `${SHARES_PROCESS}t.comment('no test')`,
      'endless.test.ts': `${SHARES_PROCESS}t.test('endless', async (t) => {
        const timer = setInterval(() => {}, 100)
        t.teardown(() => clearInterval(timer))
        await new Promise(() => {})
      })`,
      'good.test.ts': `${SHARES_PROCESS}t.test('a subtest', async (t) => { t.pass(t.testdir()); t.pass('two') })`,
      'syntax.test.ts': `${SHARES_PROCESS}}`,
      'teardown.test.ts': `${SHARES_PROCESS}t.pass('well'); t.teardown(() => { throw new Error('made up') })`,
      'well.test.ts': `${SHARES_PROCESS}t.pass(String(process.pid))`,
    })
    const { status, stdout } = run('--jobs=1', '--timeout=2', '--sum', join(folder, 'sum.json'), folder)
    const lines = stdout
      .replaceAll(relative(ROOT, folder), '')
      .match(/^(?: {2}ok {2}|FAILED) .*(?= {2})|^# \/.*/gm)
    t.equal(status, 1)
    t.strictSame(lines, [
      'FAILED  /assertion.test.ts',
      'FAILED  /empty.test.ts',
      '# /empty.test.ts: the file contains no test',
      'FAILED  /endless.test.ts',
      '  ok    /good.test.ts',
      'FAILED  /syntax.test.ts',
      'FAILED  /teardown.test.ts',
      '  ok    /well.test.ts',
    ])
    t.match(stdout, 'not ok 1 - this assertion fails')
    t.match(JSON.parse(readFileSync(join(folder, 'sum.json'), 'utf8')), { passed: 4, failed: 5 })
  },
)

t.test(
  'run-tests reports a shared process that ends early, and the processes that its files left',
  async (t) => {
    const early = t.testdir({
      'first.test.ts': `${SHARES_PROCESS}t.pass('well')`,
      'last.test.ts': `${SHARES_PROCESS}t.pass('well')`,
      'early.test.ts': `${SHARES_PROCESS}t.pass('well'); process.reallyExit(0)`,
    })
    const reports = run('--jobs=1', early).stdout.replaceAll(relative(ROOT, early), '')
    t.match(
      reports,
      /^FAILED {2}\/early.test.ts {2}.*# \/early.test.ts: the file did not start or did not end\n/s,
    )
    t.match(reports, /FAILED {2}\/last.test.ts .*# \/last.test.ts: the file did not start or did not end\n/s)
    const left = t.testdir({
      'first.test.ts': `${STARTS_PROCESS.replace(IMPORT_TAP, SHARES_PROCESS)}start({}); t.pass('well')`,
      'last.test.ts': `${SHARES_PROCESS}t.pass('well')`,
    })
    const { status, stdout } = run('--jobs=1', left)
    t.equal(status, 1)
    t.match(stdout, /^FAILED {2}.*last.test.ts or a file before it in the same process {2}/m)
    t.match(stdout, /the file left processes, which are killed now: (sleep|group) /)
  },
)

t.test('run-tests ends a file that does not end within the timeout', async (t) => {
  const folder = t.testdir({ 'endless.test.ts': 'for (;;);' })
  const { status, stdout } = run('--timeout=1', folder)
  t.equal(status, 1)
  t.match(stdout, /^FAILED .*endless.test.ts: timeout after 1 s\n.*: ended by SIG(ALRM|KILL)\n/s)
})

t.test(
  'run-tests kills and names the processes that a test file left running, and the file fails',
  async (t) => {
    const folder = t.testdir({ 'leaves.test.ts': `${STARTS_PROCESS}start({}); t.pass('well')` })
    const { status, stdout } = run(folder)
    t.equal(status, 1)
    t.match(
      stdout,
      /^FAILED .*leaves.test.ts: the file left processes, which are killed now: (sleep|group) /s,
    )
  },
)

t.test('run-tests ends although a process outside the group keeps the output open', async (t) => {
  const folder = t.testdir({
    'detached.test.ts': `${STARTS_PROCESS}start({ detached: true, stdio: ['ignore', 'inherit', 'ignore'] }); t.pass('well')`,
  })
  const { status, stdout } = run(folder)
  process.kill(Number(readFileSync(join(folder, 'pid'), 'utf8')))
  t.equal(status, 1)
  t.match(stdout, /^FAILED .*detached.test.ts: a process that the file left keeps the output open\n/s)
})

t.test('run-tests ends the processes of its test files when it receives a signal', async (t) => {
  const folder = t.testdir({ 'endless.test.ts': `${STARTS_PROCESS}start({}); setInterval(() => {}, 1_000)` })
  const runner = spawn(process.execPath, [RUNNER, folder], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(runner, 'close', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  runner.stderr.resume()
  await until('the process has started', async () => existsSync(join(folder, 'pid')))
  runner.kill('SIGTERM')
  // The processes of the file inherit stderr, so `close` follows the end of these processes.
  t.strictSame(await closed, [1, null])
})
