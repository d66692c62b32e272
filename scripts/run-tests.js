// Runs tests with tap: one line for each file as it ends, the whole report of a file that failed, and the sum at the end.
// Usage: node scripts/run-tests.js [--sum FILE] [FILE ...]; without files, those of .taprc. --sum writes {"passed", "failed"} as JSON.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const TAP = join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')

const args = process.argv.slice(2)
const sumAt = args.indexOf('--sum')
const sumFile = sumAt === -1 ? undefined : args.splice(sumAt, 2)[1]

if (!tapIsBuilt()) {
  say('preparing the test runner (once) …')
  const { status } = spawnSync(process.execPath, [TAP, 'build'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) process.exit(1)
}

const started = Date.now()
const tap = spawn(process.execPath, [TAP, '--reporter=tap', '--no-color', ...args], {
  cwd: ROOT,
  stdio: ['ignore', 'pipe', 'inherit'],
})
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
    process.stdout.write(`${line}\n`) // what tap says about the file as a whole: exit code, signal, time-out
    block = []
  } else failed = false
}

const status = await new Promise((resolve) => {
  if (tap.exitCode !== null) resolve(tap.exitCode)
  else tap.on('exit', (code) => resolve(code ?? 1))
})
counts ??= { passed: 0, failed: 1 }
if (status !== 0 && counts.failed === 0) counts.failed = 1
if (sumFile !== undefined) writeFileSync(sumFile, JSON.stringify(counts))
say(
  `${counts.passed} assertions held, ${counts.failed} failed, in ${files} files, ${Math.round((Date.now() - started) / 1000)} s`,
)
process.exit(status)

function count(text, name) {
  return Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0)
}

/**
 * tap loads its plugins from a module that `tap build` generates. Until then it is the stock one with every plugin,
 * of which one does not work with TypeScript 7 (see .taprc).
 */
function tapIsBuilt() {
  try {
    const resolve = createRequire(TAP).resolve
    const built = join(dirname(resolve('@tapjs/test/package.json')), 'test-built', 'dist', 'esm', 'index.js')
    return !readFileSync(built, 'utf8').includes('@tapjs/typescript')
  } catch {
    return false
  }
}

function say(text) {
  process.stdout.write(`tests: ${text}\n`)
}
