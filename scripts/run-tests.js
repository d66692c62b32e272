// Runs the test files. A file that needs only its own variables shares a process with other files
// (scripts/test-batch.js). All other files have their own process. Prints one line per file, the complete report of a
// failed file, and the totals. At the end, searches all captured logs for all credentials of the tests. This search
// counts as one more assertion. Usage: node scripts/run-tests.js [--sum FILE] [--jobs=N] [--timeout=SECONDS] [FILE
// ...]. FILE can be a folder or a pattern. Default: all tests. --sum writes {"passed", "failed"} as JSON. --jobs is the
// number of concurrent files.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
/**
 * The runner starts the folders in this order. The first folders contain the slowest files, so that no core is idle at
 * the end.
 */
const ALL_TESTS = ['test/flows', 'test/faults', 'test']
/** Tests of complete services. Each file has its own process. */
const SERVICE_TESTS = /^test\/(?:flows|faults|helm)\//
/** Code that changes or measures the process. A file with this code has its own process. */
const NEEDS_PROCESS =
  /\b(?:mock|cpuMs|globalThis|setFlagsFromString)\b|\bprocess\.(?:on|once|chdir|umask|cpuUsage|memoryUsage|env\[[^\]]*\] =)/
/** Maximum number of files that share a process. */
const MAX_BATCH = 8
/**
 * The runner kills a process that ignores the signal of the timeout after this time. The time also applies to a process
 * that keeps the output of a finished test file open.
 */
const KILL_AFTER_MS = 5_000
/**
 * The other processes of a group must end within this time after the exit of the test file. The runner then kills these
 * processes.
 */
const LEAVE_MS = 1_000

const args = process.argv.slice(2)
const sumAt = args.indexOf('--sum')
const sumFile = sumAt === -1 ? undefined : args.splice(sumAt, 2)[1]
const settings = { jobs: 5, timeout: 600 }
for (const option of args.filter((arg) => arg.startsWith('-'))) {
  const [, name, value] = /^--(jobs|timeout)=([1-9]\d*)$/.exec(option) ?? []
  if (name === undefined) {
    say(`unknown option ${option}`)
    process.exit(1)
  }
  settings[name] = Number(value)
}

const paths = args.filter((arg) => !arg.startsWith('-'))
const isWholeSuite = paths.length === 0
const found = (isWholeSuite ? ALL_TESTS : paths).map((path) => [path, findFiles(path)])
const unknown = found.filter(([, files]) => files.length === 0)
for (const [path] of unknown) say(`no file matches ${path} in ${ROOT}`)
if (unknown.length > 0) process.exit(1)
const testFiles = [...new Set(found.flatMap(([, files]) => files))]

const started = Date.now()
// Only this run and this user can access the folder (test/fixtures/capture.ts).
const captured = mkdtempSync(join(tmpdir(), 'scopegate-tests-'))
process.on('exit', () => rmSync(captured, { recursive: true, force: true }))
const env = {
  ...process.env,
  TAP_TIMEOUT: String(settings.timeout),
  TEST_CAPTURE_DIR: captured,
  // All processes of this run and of later runs share one compile cache.
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'compiled'),
}
const running = new Set()
// A terminal sends SIGINT only to its foreground process group. Each test file runs in another group.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    for (const { pid } of running) signalGroup(pid, signal)
    process.exit(1)
  })

const counts = { passed: 0, failed: 0 }
const queue = divideIntoProcesses(testFiles).values()
await Promise.all(Array.from({ length: settings.jobs }, runQueue))
const status = counts.failed === 0 ? 0 : 1
const clean = await searchLogs()
if (clean === true) counts.passed += 1
if (clean === false) counts.failed += 1
if (sumFile !== undefined) writeFileSync(sumFile, JSON.stringify(counts))
say(
  `${counts.passed} assertions passed, ${counts.failed} failed, in ${testFiles.length} files, ${Math.round((Date.now() - started) / 1000)} s`,
)
process.exit(clean === false ? 1 : status)

async function runQueue() {
  for (const files of queue) {
    const [first] = files
    for (const result of files.length === 1 ? [await runFile(first)] : await runBatch(files)) {
      const { name, passed, failed, output, problems, seconds } = result
      counts.passed += passed
      counts.failed += failed
      process.stdout.write(`${failed > 0 ? 'FAILED' : '  ok  '}  ${name}  ${seconds.toFixed(1)} s\n`)
      if (failed > 0)
        process.stdout.write(`${[output, ...problems.map((one) => `# ${name}: ${one}`)].join('\n')}\n`)
    }
  }
}

/** Returns the files of each process. The files with their own process come first. */
function divideIntoProcesses(files) {
  const { own = [], shared = [] } = Object.groupBy(files, (file) =>
    canShareProcess(file) ? 'shared' : 'own',
  )
  const size = Math.min(MAX_BATCH, Math.ceil(shared.length / settings.jobs))
  const batches = Array.from({ length: Math.ceil(shared.length / size) }, (_, index) =>
    shared.slice(index * size, (index + 1) * size),
  )
  return [...own.map((file) => [file]), ...batches]
}

function canShareProcess(file) {
  if (SERVICE_TESTS.test(file)) return false
  const text = readFileSync(join(ROOT, file), 'utf8')
  return /^import t\b.* from 'tap'$/m.test(text) && !NEEDS_PROCESS.test(text)
}

/** `problems` are reasons for a failure that are not in the output. */
async function runFile(file) {
  const { output, problems, seconds } = await runProcess([resolve(ROOT, file)])
  if (!isComplete(output)) problems.push('the TAP output is incomplete, or contains no test')
  const { passed, failed } = countAssertions(output)
  return {
    ...{ name: file, passed, output, problems, seconds },
    failed: problems.length > 0 ? Math.max(failed, 1) : failed,
  }
}

/**
 * Runs several files in one process.
 * @returns a result for each file, and a result for a failure of the process.
 */
async function runBatch(files) {
  const { output, problems, seconds, records } = await runProcess(
    [join(ROOT, 'scripts', 'test-batch.js')],
    files,
  )
  const parts = output.split(/^(?=# Subtest: )/m)
  const results = files.map((file) => {
    const record = records.find((one) => one.file === file)
    const part = parts.find((one) => one.startsWith(`# Subtest: ${file}\n`)) ?? ''
    if (record === undefined)
      return {
        name: file,
        passed: 0,
        failed: 1,
        output: part,
        problems: ['the file did not start or did not end'],
        seconds: 0,
      }
    const own = record.results === 0 ? ['the file contains no test'] : []
    const failed = record.ok && own.length === 0 ? 0 : Math.max(record.failed, 1)
    return { name: file, passed: record.passed, failed, output: part, problems: own, seconds: record.seconds }
  })
  const isExplained =
    results.some(({ failed }) => failed > 0) && problems.every((one) => one === 'exit code 1')
  if (problems.length === 0 || isExplained) return results
  const name = `${files.at(-1)} or a file before it in the same process`
  return [...results, { name, passed: 0, failed: 1, output, problems, seconds }]
}

/**
 * Runs Node.js in its own process group, and ends all processes of the group. `batch` contains the files for
 * scripts/test-batch.js, and `records` contains the results. Each file has the complete timeout.
 */
async function runProcess(nodeArgs, batch) {
  const begin = performance.now()
  const child = spawn(process.execPath, nodeArgs, {
    cwd: ROOT,
    env: batch === undefined ? env : { ...env, TEST_BATCH: JSON.stringify(batch) },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit', ...(batch === undefined ? [] : ['pipe'])],
  })
  running.add(child)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  let lines = ''
  child.stdio[3]?.setEncoding('utf8').on('data', (text) => {
    lines += text
    if (running.has(child)) timers[0].refresh()
  })
  const timers = []
  let isTimedOut = false
  const end = () => {
    isTimedOut = true
    child.kill('SIGALRM') // tap prints the open handles and ends the process
    timers[1] = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  }
  // In a batch, tap ends a file after the timeout, unless the file blocks the process.
  timers[0] = setTimeout(end, settings.timeout * 1_000 + (batch === undefined ? 0 : KILL_AFTER_MS))
  const closed = once(child, 'close')
  const [code, signal] = await once(child, 'exit')
  for (const timer of timers) clearTimeout(timer)
  const left = await endGroup(child.pid)
  running.delete(child)
  // A process outside the group can keep the output open.
  let isHeld = false
  const holding = setTimeout(() => {
    isHeld = true
    child.stdout.destroy()
    child.stdio[3]?.destroy()
  }, KILL_AFTER_MS)
  await closed
  clearTimeout(holding)

  const problems = []
  if (isTimedOut) problems.push(`timeout after ${settings.timeout} s`)
  if (signal !== null) problems.push(`ended by ${signal}`)
  else if (code !== 0) problems.push(`exit code ${code}`)
  if (left.length > 0) problems.push(`the file left processes, which are killed now: ${left.join(', ')}`)
  if (isHeld) problems.push('a process that the file left keeps the output open')
  const records = lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  return { output, problems, records, seconds: (performance.now() - begin) / 1_000 }
}

/**
 * Waits a short time for the processes of a group, and then kills the processes.
 * @returns the killed processes.
 */
async function endGroup(group) {
  const deadline = performance.now() + LEAVE_MS
  while (signalGroup(group, 0)) {
    const left = findProcesses(group)
    if (left.length === 0) return []
    if (performance.now() >= deadline) {
      signalGroup(group, 'SIGKILL')
      return left
    }
    await pause(20)
  }
  return []
}

/**
 * Signal 0 only checks the group.
 * @returns whether the group has a process.
 */
function signalGroup(group, signal) {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

/** Omits zombie processes. */
function findProcesses(group) {
  if (process.platform !== 'linux') return [`group ${group}`]
  return readdirSync('/proc').flatMap((id) => {
    const [, name, state, itsGroup] =
      /^\d+ \((.*)\) (\S) \d+ (\d+) /s.exec(readIfPresent(`/proc/${id}/stat`)) ?? []
    return Number(itsGroup) === group && state !== 'Z' ? [`${name} (${id})`] : []
  })
}

function readIfPresent(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Returns whether the number of results agrees with the plan. Ignores the indented results of subtests. */
function isComplete(output) {
  const [, plan = '0'] = /^1\.\.(\d+)/m.exec(output) ?? []
  const results = output.match(/^(not )?ok\b/gm) ?? []
  return results.length > 0 && results.length === Number(plan)
}

/** Reads the totals that tap prints at the end of a process. */
function countAssertions(output) {
  const totals = output.match(/^# \{ total: .* \}$/gm)?.at(-1) ?? ''
  const read = (name) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals)?.[1] ?? 0)
  return { passed: read('pass'), failed: read('fail') }
}

/** Returns the files that match a path or pattern. For a folder, returns the test files below the folder. */
function findFiles(path) {
  const files = globSync([path, `${path}/**/*.test.ts`], { cwd: ROOT }).map((one) => resolve(ROOT, one))
  return files
    .filter((file) => statSync(file).isFile())
    .map((file) => relative(ROOT, file))
    .toSorted()
}

/**
 * Searches the captured logs for credentials.
 * @returns whether the logs contain no credentials. Returns undefined if only selected files ran and captured nothing.
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

function say(text) {
  process.stdout.write(`tests: ${text}\n`)
}
