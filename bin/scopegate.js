#!/usr/bin/env node
// The command as npm installs it. Scopegate runs on Node.js 24 or later; on an older one this file, plain JavaScript that any
// Node 20 runs, finds or fetches the pinned runtime and hands over to it.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import nodeModule from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const REQUIRED_MAJOR = 24
/** Verbs that run a service for others: they start on what the operator installed, and never download anything. */
const SERVICES = new Set(['gateway', 'authorization-server'])

const source = join(ROOT, 'cli', 'main.ts')
const entry = existsSync(source) ? source : join(ROOT, 'dist', 'cli', 'main.js')
const args = process.argv.slice(2)
const major = Number(process.versions.node.split('.')[0])

if (major >= REQUIRED_MAJOR || (isAboutItself(args) && entry !== source)) {
  // A service of the installed package is compiled JavaScript already, and its home is none to write to.
  if (entry === source || !SERVICES.has(args[0] ?? '')) keepCompiled()
  const { main } = await import(pathToFileURL(entry).href)
  const code = await main(args)
  // A service that goes on serving gives no code; one that could not start has set its own.
  if (code !== undefined) process.exitCode = code
} else {
  handOver(findRuntime() ?? fetchRuntime())
}

/**
 * Verbs are typed often and run for a moment, most of which goes into compiling them, and in a checkout every module has to be
 * stripped of its types first: Node.js keeps what came of it in a folder of this user's own when it ends, and processes that
 * this one starts use it too. What it holds is run, so nobody else may be able to write there. Without such a folder, or with
 * NODE_DISABLE_COMPILE_CACHE, nothing is kept.
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
    // A home that cannot be found, or written to, costs time, and nothing else.
  }
}

/** `--help` and `--version` are text: they need no runtime of ours. */
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
  // Installed aside and moved into place, so that a fetch that was cut off never looks complete.
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
  // A terminal sends Ctrl-C to both; anything else has to be passed on.
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

/** A relative path would be one of wherever the command is typed. Source: XDG Base Directory Specification. */
function cacheRoot() {
  const given = process.env.XDG_CACHE_HOME ?? ''
  const base = isAbsolute(given) ? given : join(homedir(), '.cache')
  if (!isAbsolute(base)) throw new Error('there is no home folder: set XDG_CACHE_HOME')
  return join(base, 'scopegate')
}

/** Whether it is a folder, and no link to one, that nobody but this user, or root, can write to. */
function isOwn(folder) {
  const status = lstatSync(folder)
  if (!status.isDirectory()) return false
  if (process.getuid === undefined) return true
  return [0, process.getuid()].includes(status.uid) && (status.mode & 0o022) === 0
}

/** One level after the other, as platform/process/make-folder.ts: Node's own recursive mkdir never returns below such as `/proc`. */
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
