// Installs a tool that is not an npm package into a cache folder of the user. Later runs find the same folder.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the folder of tools that are not npm packages. Later runs find the same folder. */
export function toolsFolder() {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'scopegate', 'tools')
}

/**
 * Runs `install` with an empty folder, unless an earlier run installed this tool. Then renames the folder. An
 * interrupted installation therefore never looks complete. Ends the process with one line of advice if `file` is
 * missing afterwards.
 * @returns the path of `file` in the folder `name` of {@link toolsFolder}.
 */
export function installTool({ name, file, advice, install }) {
  const folder = join(toolsFolder(), name)
  const path = join(folder, file)
  if (existsSync(path)) return path

  const say = (text) => process.stderr.write(`install-tool: ${text}\n`)
  say(`installing ${name} into ${folder} (once) …`)
  const started = Date.now()
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const succeeded = install(partial)
  if (succeeded && !existsSync(folder)) renameSync(partial, folder)
  rmSync(partial, { recursive: true, force: true })
  if (!existsSync(path)) {
    say(`${name} could not be installed; the messages are above. ${advice}`)
    process.exit(1)
  }
  say(`${name} installed in ${Math.round((Date.now() - started) / 1000)} s`)
  return path
}
