#!/usr/bin/env node
// npm installs this command. The file is plain JavaScript, so that an older Node.js can run the file and print the
// required version.
import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import nodeModule from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { unsupportedNode } from './unsupported-node.js'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const SERVICES = new Set(['gateway', 'authorization-server'])

const source = join(ROOT, 'cli', 'main.ts')
const entry = existsSync(source) ? source : join(ROOT, 'dist', 'cli', 'main.js')
const args = process.argv.slice(2)
const problem = unsupportedNode(process.versions.node)

if (problem === undefined) {
  // A service of the installed package is compiled JavaScript already. Its home folder can be read-only.
  if (entry === source || !SERVICES.has(args[0] ?? '')) keepCompiled()
  const { main } = await import(pathToFileURL(entry).href)
  const code = await main(args)
  // A running service returns no code. A service that failed to start has set its own exit code.
  if (code !== undefined) process.exitCode = code
} else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}

/**
 * Enables the compile cache of Node.js, in a folder that belongs to this user. A command spends most of its time on
 * compilation, and in a checkout also on type stripping. Node.js writes the cache when the process ends. Child
 * processes use the same cache. Node.js executes the cached code, so only this user may have write access. Without such
 * a folder, or with NODE_DISABLE_COMPILE_CACHE, the cache is off.
 */
function keepCompiled() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return
  try {
    const folder = join(cacheRoot(), 'compiled')
    makeFolder(folder)
    if (![cacheRoot(), folder].every(isOwn)) return
    nodeModule.enableCompileCache(folder)
    process.env.NODE_COMPILE_CACHE = folder
  } catch {
    // Without a writable home folder, the command is slower but works.
  }
}

/**
 * Ignores a relative XDG_CACHE_HOME, because the folder would depend on the working directory. Source: XDG Base
 * Directory Specification.
 */
function cacheRoot() {
  const given = process.env.XDG_CACHE_HOME ?? ''
  const base = isAbsolute(given) ? given : join(homedir(), '.cache')
  if (!isAbsolute(base)) throw new Error('no home folder')
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
 * A copy of the function in platform/process/make-folder.ts. Creates folders level by level, because the recursive
 * `mkdir()` of Node.js never returns below paths such as `/proc`.
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
