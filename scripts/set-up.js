// Sets up a checkout: installs the dependencies (with the pinned Node.js), with --tests the system packages for the
// tests, and with --site the dependencies of the documentation site.
// This script is plain JavaScript without dependencies, so that it runs on Node.js 20 or later before anything is
// installed.
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Name of the lock file of a running installation. The file contains the process id. */
const BUSY = '.set-up.lock'
const BUSY_FOR_MS = 600_000 // npm ci takes about a minute; an older lock file is stale

/** Programs and files that the tests use, and their Debian packages. */
const SYSTEM_PARTS = [
  { commands: ['redis-server'], debianPackage: 'redis-server' },
  { commands: ['chromium', 'chromium-browser', 'google-chrome'], debianPackage: 'chromium' },
  { commands: ['postgres'], folders: postgresFolders(), debianPackage: 'postgresql' },
  { commands: ['buildah'], debianPackage: 'buildah' },
  { commands: ['nginx'], debianPackage: 'nginx-light' },
  { commands: ['haproxy'], debianPackage: 'haproxy' },
  { commands: ['caddy'], debianPackage: 'caddy' },
  { commands: ['apache2'], debianPackage: 'apache2-bin' },
  { files: ['/usr/share/lua/5.3/socket/http.lua'], debianPackage: 'lua-socket' },
  { files: ['/usr/lib/python3/dist-packages/flask/__init__.py'], debianPackage: 'python3-flask' },
]

/** While this file exists, the package `postgresql` creates no database. The tests create their own databases. */
const NO_DATABASE = '/etc/postgresql-common/createcluster.d/scopegate-tests.conf'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 20)
  fail(
    `The setup of Scopegate requires Node.js 20 or later; this is ${process.version}. Install a newer version from nodejs.org.`,
  )

for (const folder of [ROOT, ...(process.argv.includes('--site') ? [join(ROOT, 'site')] : [])])
  while (!dependenciesAreInstalled(folder)) if (installAlone(folder)) break
if (process.argv.includes('--tests')) installSystemParts()

/** Returns whether each required package of the lock file is installed at the locked version. */
function dependenciesAreInstalled(folder) {
  const installed = readLock(join(folder, 'node_modules', '.package-lock.json'))
  const lock = join(folder, 'package-lock.json')
  const wanted = readLock(lock)
  if (wanted === undefined) fail(`${lock} is missing or broken. Restore it with: git checkout ${lock}`)
  if (installed === undefined) return false
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/') || entry.link || entry.optional || entry.devOptional || entry.peer)
      continue
    if (installed[path]?.version !== entry.version) return false
    if (!existsSync(join(folder, path))) return false
  }
  // The runtime is an optional dependency, with one package per platform.
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
 * Installs the dependencies under a lock. Without the lock, two concurrent commands, such as `npm start` and `npm
 * test`, would run `npm ci` at the same time. Each `npm ci` would delete files of the other `npm ci`.
 * @returns true if this process installed the dependencies. Returns false after it waited for another process.
 */
function installAlone(folder) {
  const lock = join(folder, BUSY)
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (error.code === 'EEXIST') {
      awaitOther(lock)
      return false
    }
    installDependencies(folder) // without a lock, because npm reports why this folder is not writable
    return true
  }
  process.on('exit', () => rmSync(lock, { force: true }))
  installDependencies(folder)
  return true
}

function awaitOther(lock) {
  let isAnnounced = false
  while (stateOfOther(lock) === 'busy') {
    if (!isAnnounced) say(`another command is installing the dependencies (${lock}); waiting for it …`)
    isAnnounced = true
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  if (stateOfOther(lock) === 'killed') rmSync(lock, { force: true })
}

function stateOfOther(lock) {
  try {
    if (Date.now() - statSync(lock).mtimeMs > BUSY_FOR_MS) return 'killed'
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return 'busy'
  } catch (error) {
    if (error.code === 'ENOENT') return 'done'
    return error.code === 'EPERM' ? 'busy' : 'killed'
  }
}

function installDependencies(folder) {
  const isRoot = folder === ROOT
  say(`installing dependencies${isRoot ? ' and the pinned Node.js' : ` of ${folder}`} (npm ci; once) …`)
  const npm = process.env.npm_execpath
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const started = Date.now()
  run(
    command,
    [...args, 'ci', '--loglevel=error', '--no-audit', '--no-fund', ...(isRoot ? [] : ['--ignore-scripts'])],
    'npm ci failed; its message is above. With no network, check that the npm registry can be reached.',
    folder,
  )
  say(`dependencies installed in ${Math.round((Date.now() - started) / 1000)} s`)
}

function installSystemParts() {
  const missing = SYSTEM_PARTS.filter(
    ({ commands = [], files = [], folders }) =>
      !commands.some((command) => isOnPath(command, folders)) && !files.some((file) => existsSync(file)),
  )
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
  // RUNLEVEL=1 prevents packages from starting their services. The tests start their own services on other ports.
  const aptGet = 'env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0'
  const script = `
    ${aptGet} update || exit
    mkdir -p ${dirname(NO_DATABASE)} && echo 'create_main_cluster = false' > ${NO_DATABASE}
    ${aptGet} install -y --no-install-recommends ${packages.join(' ')}
    status=$?
    rm -f ${NO_DATABASE}
    exit $status`
  const [command, ...args] = [...sudo, 'sh', '-c', script]
  run(command, args, byHand)
}

/** Debian installs each version of PostgreSQL in its own folder, outside PATH. */
function postgresFolders() {
  const versions = '/usr/lib/postgresql'
  return existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin')) : []
}

function isOnPath(command, folders = []) {
  return [...(process.env.PATH ?? '').split(delimiter), ...folders].some((folder) => {
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

function run(command, args, advice, cwd = ROOT) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error !== undefined || status !== 0) fail(advice)
}

function say(text) {
  process.stderr.write(`set-up: ${text}\n`)
}

function fail(text) {
  process.stderr.write(`set-up: ${text}\n`)
  process.exit(1)
}
