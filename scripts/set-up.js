// Brings a checkout to the state in which everything runs: dependencies (with the pinned Node.js) and, with --tests, the
// system parts that tests drive. Plain JavaScript on Node's own modules: it runs on any Node 20 or later, before anything is installed.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** There while somebody installs: the number of that process. */
const BUSY = join(ROOT, '.set-up.lock')
const BUSY_FOR_MS = 600_000 // npm ci takes a minute or so; what is older is left over

/** What the tests drive for real, and how Debian calls it. */
const SYSTEM_PARTS = [
  { commands: ['redis-server'], debianPackage: 'redis-server' },
  { commands: ['chromium', 'chromium-browser', 'google-chrome'], debianPackage: 'chromium' },
]

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 20)
  fail(
    `Scopegate is set up with Node.js 20 or later; this is ${process.version}. Install one from nodejs.org.`,
  )

while (!dependenciesAreInstalled()) if (installAlone()) break
if (process.argv.includes('--tests')) installSystemParts()

/** True when every package of the lock file that this platform needs is installed at the locked version. */
function dependenciesAreInstalled() {
  const installed = readLock(join(ROOT, 'node_modules', '.package-lock.json'))
  const wanted = readLock(join(ROOT, 'package-lock.json'))
  if (wanted === undefined)
    fail('package-lock.json is missing or broken. Restore it with: git checkout package-lock.json')
  if (installed === undefined) return false
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/') || entry.link || entry.optional || entry.devOptional || entry.peer)
      continue
    if (installed[path]?.version !== entry.version) return false
    if (!existsSync(join(ROOT, path))) return false
  }
  // The runtime itself is an optional dependency, one package for each platform.
  const runtime = `node_modules/node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  return wanted[runtime] === undefined || installed[runtime]?.version === wanted[runtime].version
}

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * Two commands that are typed at the same moment, `npm start` and `npm test`: the `npm ci` of each would take away what the other's
 * installs, so the second one waits.
 * @returns whether this process installed them; false: somebody else did, or stopped trying.
 */
function installAlone() {
  try {
    writeFileSync(BUSY, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (error.code === 'EEXIST') {
      awaitOther()
      return false
    }
    installDependencies() // npm says what is wrong with this folder
    return true
  }
  process.on('exit', () => rmSync(BUSY, { force: true }))
  installDependencies()
  return true
}

function awaitOther() {
  let isTold = false
  while (stateOfOther() === 'busy') {
    if (!isTold) say(`another command is installing the dependencies (${BUSY}); waiting for it …`)
    isTold = true
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  if (stateOfOther() === 'killed') rmSync(BUSY, { force: true })
}

function stateOfOther() {
  try {
    if (Date.now() - statSync(BUSY).mtimeMs > BUSY_FOR_MS) return 'killed'
    process.kill(Number(readFileSync(BUSY, 'utf8')), 0)
    return 'busy'
  } catch (error) {
    if (error.code === 'ENOENT') return 'done'
    return error.code === 'EPERM' ? 'busy' : 'killed'
  }
}

function installDependencies() {
  say('installing dependencies and the pinned Node.js (npm ci; a minute or so, once) …')
  const npm = process.env.npm_execpath
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const started = Date.now()
  run(
    command,
    [...args, 'ci', '--loglevel=error', '--no-audit', '--no-fund'],
    'npm ci failed; its message is above. With no network, check that the npm registry can be reached.',
  )
  say(`dependencies installed in ${Math.round((Date.now() - started) / 1000)} s`)
}

function installSystemParts() {
  const missing = SYSTEM_PARTS.filter((part) => !part.commands.some(isOnPath))
  if (missing.length === 0) return
  const packages = missing.map((part) => part.debianPackage)
  const byHand = `the tests need ${packages.join(' and ')}; install with: sudo apt-get install ${packages.join(' ')}`
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  if (
    !isOnPath('apt-get') ||
    (sudo.length > 0 && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status !== 0)
  )
    fail(byHand)
  say(`installing ${packages.join(' and ')} from the system's packages (once) …`)
  // RUNLEVEL=1: a package that brings a service must not start it; tests start their own on their own ports.
  const aptGet = [
    ...sudo,
    'env',
    'RUNLEVEL=1',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-qq',
    '-o',
    'Dpkg::Use-Pty=0',
  ]
  run(aptGet[0], [...aptGet.slice(1), 'update'], byHand)
  run(aptGet[0], [...aptGet.slice(1), 'install', '-y', '--no-install-recommends', ...packages], byHand)
}

function isOnPath(command) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    const file = join(folder, command)
    if (!existsSync(file)) return false
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function run(command, args, advice) {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error !== undefined || status !== 0) fail(advice)
}

function say(text) {
  process.stderr.write(`set-up: ${text}\n`)
}

function fail(text) {
  process.stderr.write(`set-up: ${text}\n`)
  process.exit(1)
}
