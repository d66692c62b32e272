#!/usr/bin/env node
// The command that npm installs. Scopegate needs Node.js 24 or later. On an older version, this file finds or downloads
// the pinned runtime and runs itself with it. It is plain JavaScript for Node.js 20 or later.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import nodeModule from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const REQUIRED_MAJOR = 24
/** Verbs that run a service. They use the installed runtime and never download one. */
const SERVICES = new Set(['gateway', 'authorization-server'])

const source = join(ROOT, 'cli', 'main.ts')
const entry = existsSync(source) ? source : join(ROOT, 'dist', 'cli', 'main.js')
const args = process.argv.slice(2)
const major = Number(process.versions.node.split('.')[0])

if (major >= REQUIRED_MAJOR || (isAboutItself(args) && entry !== source)) {
  // A service of the installed package is compiled JavaScript already, and its home folder may be read-only.
  if (entry === source || !SERVICES.has(args[0] ?? '')) keepCompiled()
  const { main } = await import(pathToFileURL(entry).href)
  const code = await main(args)
  // A running service returns no code. A service that failed to start has set its own exit code.
  if (code !== undefined) process.exitCode = code
} else {
  handOver(findRuntime() ?? fetchRuntime())
}

/**
 * Enables the compile cache of Node.js in a folder of this user.
 * Most of the run time of a verb is compilation, and in a checkout also type stripping. Node.js writes the cache when
 * the process ends, and child processes use it too. Node.js executes the cached code, so only this user may have write
 * access. Without such a folder, or with NODE_DISABLE_COMPILE_CACHE, caching is off.
 */
function keepCompiled() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return
  try {
    const folder = join(cacheRoot(), 'compiled')
    makeFolder(folder)
    if (![cacheRoot(), folder].every(isOwn)) return
    nodeModule.enableCompileCache?.(folder)
    process.env.NODE_COMPILE_CACHE = folder
  } catch {
    // Without a writable home folder, the command is slower but works.
  }
}

/** Returns true for `--help` and `--version`, which print text and work with any runtime. */
function isAboutItself(words) {
  return (
    words.length === 0 || words.some((word) => ['--help', '-h', 'help', '--version', '-v'].includes(word))
  )
}

function findRuntime() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const inCheckout = join(ROOT, 'node_modules', runtimePackage(), 'bin', name)
  if (existsSync(inCheckout)) return inCheckout
  const cached = join(cacheFolder(), 'node_modules', runtimePackage(), 'bin', name)
  return existsSync(cached) && [cacheRoot(), cacheFolder()].every(isOwn) ? cached : undefined
}

function fetchRuntime() {
  const verb = args[0] ?? ''
  const wanted = `${runtimePackage()}@${pinnedVersion()}`
  if (SERVICES.has(verb)) {
    fail(
      `\`scopegate ${verb}\` needs Node.js ${REQUIRED_MAJOR} or later; this is ${process.version}. Install it, or use the container image.`,
    )
  }
  const notOwn = [cacheRoot(), cacheFolder()].find((folder) => existsSync(folder) && !isOwn(folder))
  if (notOwn !== undefined)
    fail(
      `others may write to ${notOwn}, and what it holds is run. Set XDG_CACHE_HOME to a folder of your own.`,
    )
  process.stderr.write(
    `scopegate: needs Node.js ${REQUIRED_MAJOR}, this is ${process.version}. Fetching ${wanted} with npm into ${cacheFolder()} (once) …\n`,
  )
  // Installs into a temporary folder and renames it, so that an interrupted download never looks complete.
  const partial = `${cacheFolder()}.${process.pid}`
  try {
    makeFolder(partial)
  } catch (error) {
    fail(
      `${partial} cannot be made (${error.message}). Set XDG_CACHE_HOME to a folder of your own, or install Node.js ${REQUIRED_MAJOR} or later.`,
    )
  }
  const { status } = spawnSync(
    'npm',
    ['install', '--prefix', partial, '--no-save', '--no-audit', '--no-fund', '--loglevel=error', wanted],
    { stdio: ['ignore', 2, 2], shell: process.platform === 'win32' },
  )
  if (status === 0 && !existsSync(cacheFolder())) renameSync(partial, cacheFolder())
  rmSync(partial, { recursive: true, force: true })
  return (
    findRuntime() ??
    fail(
      `the runtime could not be fetched; npm's message is above. Install Node.js ${REQUIRED_MAJOR} or later and try again.`,
    )
  )
}

function handOver(runtime) {
  const child = spawn(runtime, [join(ROOT, 'bin', 'scopegate.js'), ...args], { stdio: 'inherit' })
  // A terminal sends Ctrl-C to both processes. Other signals must be forwarded.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.on('SIGHUP', () => child.kill('SIGHUP'))
  process.on('SIGUSR2', () => child.kill('SIGUSR2'))
  child.on('error', (error) => fail(`${runtime} does not run: ${error.message}`))
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
  })
}

function runtimePackage() {
  return `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
}

function pinnedVersion() {
  return JSON.parse(readFileSync(join(ROOT, 'toolchain', 'node', 'package.json'), 'utf8')).version
}

function cacheFolder() {
  try {
    return join(cacheRoot(), `node-${pinnedVersion()}`)
  } catch (error) {
    return fail(error.message)
  }
}

/**
 * Ignores a relative XDG_CACHE_HOME, because it would depend on the working directory. Source: XDG Base Directory
 * Specification.
 */
function cacheRoot() {
  const given = process.env.XDG_CACHE_HOME ?? ''
  const base = isAbsolute(given) ? given : join(homedir(), '.cache')
  if (!isAbsolute(base)) throw new Error('there is no home folder: set XDG_CACHE_HOME')
  return join(base, 'scopegate')
}

/** Returns whether the path is a folder (not a link) that only this user or root can write to. */
function isOwn(folder) {
  const status = lstatSync(folder)
  if (!status.isDirectory()) return false
  if (process.getuid === undefined) return true
  return [0, process.getuid()].includes(status.uid) && (status.mode & 0o022) === 0
}

/**
 * Creates folders level by level, like platform/process/make-folder.ts. Node's recursive mkdir never returns below
 * paths such as `/proc`.
 */
function makeFolder(folder) {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

function fail(text) {
  process.stderr.write(`scopegate: ${text}\n`)
  process.exit(1)
}
