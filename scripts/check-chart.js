// Checks the Helm chart with helm: lint, rendering, and mutations of the templates. Starts both services in the
// configuration of the chart, and the services of compose.yaml. Usage:
// node scripts/check-chart.js [--sum FILE] [NAME...]. NAME selects one check of the folder test/helm. --sum writes
// {"passed", "failed"} as JSON.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installChartTools } from './install-chart-tools.js'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const FOLDER = join('test', 'helm')
const PINNED = join(ROOT, 'node_modules', '.bin', 'node')
/** The slowest checks, which start first. Otherwise, one check runs alone at the end. */
const SLOWEST = ['mutations', 'start-up', 'chart', 'alerts']
/** The checks are TypeScript. A Node.js that is older than the pinned version possibly cannot run TypeScript. */
const NODE = existsSync(PINNED) ? PINNED : process.execPath

const env = { ...process.env, ...installChartTools() }

// The pods and the image run the emitted JavaScript.
run([join('scripts', 'build.js')])
const { values, positionals } = parseArgs({ options: { sum: { type: 'string' } }, allowPositionals: true })
const names = positionals.length > 0 ? positionals : [...new Set([...SLOWEST, ...findChecks()])]
// The start-up of the services takes about a minute on an idle machine with two cores, and several minutes on a busy
// machine.
run([
  join('scripts', 'run-tests.js'),
  '--timeout=900',
  ...(values.sum === undefined ? [] : ['--sum', values.sum]),
  ...names.map((name) => join(FOLDER, `${name}.check.ts`)),
])

function findChecks() {
  return readdirSync(join(ROOT, FOLDER)).flatMap((file) => /^(.*)\.check\.ts$/.exec(file)?.[1] ?? [])
}

function run(args) {
  const { status } = spawnSync(NODE, args, { cwd: ROOT, env, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
