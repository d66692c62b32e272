import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'node_modules', '.cache', 'clients')
const LOCKS = ['package.json', 'package-lock.json', 'requirements.txt']

export type InstalledClients = {
  /** Folder with `node_modules` and the programs. The programs import the packages from `node_modules`. */
  readonly folder: string
  /** The Python program of the virtual environment. */
  readonly python: string
}

/**
 * Installs the locked versions of the clients if necessary, and copies the programs to the same folder.
 * @throws {Error} if npm or pip fails.
 */
export function installClients(): InstalledClients {
  const hash = createHash('sha256')
  for (const name of LOCKS) hash.update(readFileSync(join(import.meta.dirname, name)))
  const version = hash.digest('hex')
  const stamp = join(FOLDER, 'installed')
  const environment = join(FOLDER, 'python')
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== version) {
    rmSync(FOLDER, { recursive: true, force: true })
    mkdirSync(FOLDER, { recursive: true })
    for (const name of LOCKS) cpSync(join(import.meta.dirname, name), join(FOLDER, name))
    console.log('installing the clients of the npm registry …')
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
    console.log('installing the clients of PyPI …')
    run('python3', ['-m', 'venv', environment])
    run(join(environment, 'bin', 'pip'), ['install', '--quiet', '--requirement', 'requirements.txt'])
    writeFileSync(stamp, version)
  }
  cpSync(join(import.meta.dirname, 'programs'), FOLDER, { recursive: true })
  return { folder: FOLDER, python: join(environment, 'bin', 'python') }
}

export function npmVersion(name: string, folder = FOLDER): string {
  return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
}

export function pythonVersion(name: string): string {
  const requirements = readFileSync(join(import.meta.dirname, 'requirements.txt'), 'utf8')
  const line = requirements.split('\n').find((one) => one.toLowerCase().startsWith(`${name.toLowerCase()}==`))
  if (line === undefined) throw new Error(`requirements.txt has no version of ${name}`)
  return line.slice(name.length + 2)
}

function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: FOLDER, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${args[0]} failed with exit code ${status}`)
}
