// Builds the pinned helm from source as a Go module. Later runs reuse the executable. Prints its path on standard
// output.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const HELM_VERSION = 'v3.22.0'
const HELM_MODULE = 'helm.sh/helm/v3'
const RENDERER = fileURLToPath(new URL('../test/helm/render-charts.go', import.meta.url))

/**
 * Ends the process with one line of advice if the installation fails.
 * @returns the path of the helm executable.
 */
export function installHelm() {
  const folder = join(toolsFolder(), `helm-${HELM_VERSION}`)
  const helm = join(folder, 'helm')
  if (existsSync(helm)) return helm

  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0)
    fail(
      'helm is built from source and Go is missing. Install Go 1.25 or later (https://go.dev/doc/install).',
    )
  say(`building helm ${HELM_VERSION} with Go into ${folder} (once; about three minutes) …`)
  const started = Date.now()
  // Builds in a temporary folder, and then renames the folder. An interrupted build therefore never looks complete.
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const { status } = spawnSync('go', ['install', `${HELM_MODULE}/cmd/helm@${HELM_VERSION}`], {
    env: { ...process.env, GOBIN: partial },
    stdio: ['ignore', 2, 2],
  })
  if (status === 0 && !existsSync(folder)) renameSync(partial, folder)
  rmSync(partial, { recursive: true, force: true })
  if (!existsSync(helm))
    fail("helm could not be built; Go's message is above. Go needs access to its module proxy.")
  say(`helm built in ${Math.round((Date.now() - started) / 1000)} s`)
  return helm
}

/**
 * Builds test/helm/render-charts.go with the packages of the pinned helm. Ends the process with one line of advice if
 * the build fails.
 * @returns the path of the executable.
 */
export function buildChartRenderer() {
  const version = createHash('sha256').update(readFileSync(RENDERER)).digest('hex').slice(0, 16)
  const folder = join(toolsFolder(), `render-charts-${HELM_VERSION}-${version}`)
  const renderer = join(folder, 'render-charts')
  if (existsSync(renderer)) return renderer

  say(`building the chart renderer with Go into ${folder} (once) …`)
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const module = spawnSync('go', ['mod', 'download', '-json', `${HELM_MODULE}@${HELM_VERSION}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
  })
  if (module.status === 0) {
    writeModule(partial, JSON.parse(module.stdout))
    const { status } = spawnSync(
      'go',
      ['build', '-C', partial, '-ldflags=-s -w', '-o', 'render-charts', '.'],
      {
        stdio: ['ignore', 2, 2],
      },
    )
    if (status === 0 && !existsSync(folder)) renameSync(partial, folder)
  }
  rmSync(partial, { recursive: true, force: true })
  if (!existsSync(renderer))
    fail("the chart renderer could not be built; Go's message is above. Go needs access to its module proxy.")
  return renderer
}

/** Writes a module for the renderer. The module has the dependencies, versions and checksums of helm. */
function writeModule(folder, { Dir: helm, Sum, GoModSum }) {
  const [mod, sum] = ['go.mod', 'go.sum'].map((name) => readFileSync(join(helm, name), 'utf8'))
  const one = `${HELM_MODULE} ${HELM_VERSION}`
  writeFileSync(join(folder, 'go.mod'), mod.replace(/^module .*/m, `module render-charts\nrequire ${one}`))
  writeFileSync(join(folder, 'go.sum'), `${sum}${one} ${Sum}\n${one}/go.mod ${GoModSum}\n`)
  cpSync(RENDERER, join(folder, 'main.go'))
}

/** Returns the folder of tools that are not npm packages. Later runs find the same folder. */
export function toolsFolder() {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'scopegate', 'tools')
}

function say(text) {
  process.stderr.write(`install-helm: ${text}\n`)
}

function fail(text) {
  say(text)
  process.exit(1)
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installHelm()}\n`)
