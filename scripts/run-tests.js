// Runs tests with tap. Prints one line per file, the complete report of a failed file, and the totals.
// Finally searches all captured logs for all credentials of the tests. This search counts as one more assertion.
// Usage: node scripts/run-tests.js [--sum FILE] [--OPTION=VALUE ...] [FILE ...]. Default files: those in .taprc. FILE
// can be a folder or a pattern. --sum writes {"passed", "failed"} as JSON. tap receives the other options.
import { spawn, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const TAP = join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')

const args = process.argv.slice(2)
const sumAt = args.indexOf('--sum')
const sumFile = sumAt === -1 ? undefined : args.splice(sumAt, 2)[1]

// tap ignores folders. tap also ignores an argument that matches no file if another argument matches a file.
const options = args.filter((arg) => arg.startsWith('-'))
const testFiles = args.filter((arg) => !arg.startsWith('-')).map((arg) => [arg, findFiles(arg)])
const unknown = testFiles.filter(([, found]) => found.length === 0)
for (const [arg] of unknown) say(`no file matches ${arg} in ${ROOT}`)
if (unknown.length > 0) process.exit(1)

if (!tapIsBuilt()) {
  say('preparing the test runner (once) …')
  const { status } = spawnSync(process.execPath, [TAP, 'build'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) process.exit(1)
}

const started = Date.now()
const isWholeSuite = testFiles.length === 0
// Only this run and this user can access the folder; see test/fixtures/capture.ts.
const captured = mkdtempSync(join(tmpdir(), 'scopegate-tests-'))
// Each test file runs in its own process and starts further processes. All these processes, and the processes of later
// runs, share one compile cache.
const compiled = join(ROOT, 'node_modules', '.cache', 'compiled')
process.on('exit', () => rmSync(captured, { recursive: true, force: true }))
const tap = spawn(
  process.execPath,
  [TAP, '--reporter=tap', '--no-color', ...options, ...testFiles.flatMap(([, found]) => found)],
  {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TEST_CAPTURE_DIR: captured, NODE_COMPILE_CACHE: compiled },
  },
)
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tap.kill(signal))

let files = 0
let block = []
let failed = false
let counts
for await (const line of createInterface({ input: tap.stdout })) {
  const sum = /^# \{ total: (\d+)(.*) \}/.exec(line)
  if (sum !== null) counts = { passed: count(sum[2], 'pass'), failed: count(sum[2], 'fail') }
  const end = /^(ok|not ok) \d+ - (.*?)(?: # time=([\d.]+)ms)?$/.exec(line)
  block.push(line)
  if (end !== null) {
    files++
    failed = end[1] === 'not ok'
    const time = end[3] === undefined ? '' : `  ${(Number(end[3]) / 1000).toFixed(1)} s`
    process.stdout.write(`${failed ? 'FAILED' : '  ok  '}  ${end[2]}${time}\n`)
    if (failed) process.stdout.write(`${block.join('\n')}\n`)
    block = []
  } else if (failed && line.startsWith('  ')) {
    process.stdout.write(`${line}\n`) // tap's diagnostics of the file: exit code, signal, timeout
    block = []
  } else failed = false
}

const status = await new Promise((resolve) => {
  if (tap.exitCode !== null) resolve(tap.exitCode)
  else tap.on('exit', (code) => resolve(code ?? 1))
})
counts ??= { passed: 0, failed: 1 }
if (status !== 0 && counts.failed === 0) counts.failed = 1
const clean = await searchLogs()
if (clean === true) counts.passed += 1
if (clean === false) counts.failed += 1
if (sumFile !== undefined) writeFileSync(sumFile, JSON.stringify(counts))
say(
  `${counts.passed} assertions passed, ${counts.failed} failed, in ${files} files, ${Math.round((Date.now() - started) / 1000)} s`,
)
process.exit(clean === false ? 1 : status)

/** Returns the files of a path or pattern. For a folder: the test files below it. */
function findFiles(path) {
  const paths = globSync([path, `${path}/**/*.test.ts`], { cwd: ROOT })
  return paths.filter((one) => statSync(resolve(ROOT, one)).isFile())
}

/**
 * Searches the captured logs for credentials.
 * @returns whether the logs contain no credential; undefined when single files ran and captured nothing.
 */
async function searchLogs() {
  const { findLoggedCredentials } = await import('../test/fixtures/find-logged-credentials.ts')
  const { credentials, logs, lines, found } = findLoggedCredentials(captured)
  const searched = `searched ${lines} lines of ${logs} logs for ${credentials} credentials`
  if (!isWholeSuite && (credentials === 0 || logs === 0) && found.length === 0) return undefined
  if (credentials === 0 || logs === 0) {
    say(`FAILED: ${searched}: there is nothing to search`)
    return false
  }
  for (const place of found.slice(0, 20)) say(`FAILED: the log of ${place} contains a credential`)
  if (found.length === 0) say(`${searched}, 0 found`)
  return found.length === 0
}

function count(text, name) {
  return Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0)
}

/**
 * Returns whether `tap build` has generated the plugin module of tap.
 * Before `tap build`, tap uses its default module with every plugin. One of these plugins does not work with TypeScript
 * 7 (see .taprc).
 */
function tapIsBuilt() {
  try {
    const { resolve: find } = createRequire(TAP)
    const built = join(dirname(find('@tapjs/test/package.json')), 'test-built', 'dist', 'esm', 'index.js')
    return !readFileSync(built, 'utf8').includes('@tapjs/typescript')
  } catch {
    return false
  }
}

function say(text) {
  process.stdout.write(`tests: ${text}\n`)
}
