// Downloads promtool from Debian's `prometheus` package, and unpacks promtool into a separate folder. Later runs use
// this copy. Installs no package and starts no service. Prints the path of promtool on standard output.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toolsFolder } from './install-tool.js'

/**
 * Finds or downloads promtool. Ends the process with one line of advice if the download fails.
 * @returns the path of the promtool executable.
 */
export function installPromtool() {
  const folder = join(toolsFolder(), 'promtool')
  const promtool = join(folder, 'usr', 'bin', 'promtool')
  if (existsSync(promtool)) return promtool
  const onPath = spawnSync('promtool', ['--version'], { stdio: 'ignore' })
  if (onPath.status === 0) return 'promtool'

  if (spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status !== 0)
    fail(
      'promtool is missing. Download promtool from https://prometheus.io/download/ and add its folder to the PATH.',
    )
  say(`fetching promtool from the system's package \`prometheus\` into ${folder} (once; about 20 MB) …`)
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  chmodSync(partial, 0o755)
  if (!download(partial)) {
    say('the package lists are missing or old; updating them …')
    const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
    const update = [...sudo, 'apt-get', '-qq', 'update']
    spawnSync(update[0], update.slice(1), { stdio: ['ignore', 2, 2] })
    if (!download(partial)) giveUp(partial)
  }
  const archive = readdirSync(partial).find((file) => file.endsWith('.deb'))
  if (archive === undefined) giveUp(partial)
  const { status } = spawnSync('dpkg', ['-x', archive, '.'], { cwd: partial, stdio: ['ignore', 2, 2] })
  if (status !== 0) giveUp(partial)
  rmSync(join(partial, archive))
  if (!existsSync(folder)) renameSync(partial, folder)
  rmSync(partial, { recursive: true, force: true })
  if (!existsSync(promtool)) giveUp(partial)
  return promtool
}

function download(folder) {
  return (
    spawnSync('apt-get', ['-qq', 'download', 'prometheus'], { cwd: folder, stdio: 'ignore' }).status === 0
  )
}

function giveUp(partial) {
  rmSync(partial, { recursive: true, force: true })
  fail('promtool could not be fetched. Install it by hand: sudo apt-get install prometheus')
}

function say(text) {
  process.stderr.write(`install-promtool: ${text}\n`)
}

function fail(text) {
  say(text)
  process.exit(1)
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installPromtool()}\n`)
