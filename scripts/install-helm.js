// Builds the pinned helm from source as a Go module. Later runs reuse the executable. Prints its path on standard
// output.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { downloadGoModule, GO_ADVICE } from './install-go-tool.js'
import { installTool } from './install-tool.js'

const HELM_VERSION = 'v3.22.0'
const HELM_MODULE = 'helm.sh/helm/v3'
const RENDERER = fileURLToPath(new URL('../test/helm/render-charts.go', import.meta.url))

/**
 * Ends the process with one line of advice if the installation fails.
 * @returns the path of the helm executable.
 */
export function installHelm() {
  return installTool({
    name: `helm-${HELM_VERSION}`,
    file: 'helm',
    advice: GO_ADVICE,
    install(folder) {
      const { status } = spawnSync('go', ['install', `${HELM_MODULE}/cmd/helm@${HELM_VERSION}`], {
        env: { ...process.env, GOBIN: folder },
        stdio: ['ignore', 2, 2],
      })
      return status === 0
    },
  })
}

/**
 * Builds test/helm/render-charts.go with the packages of the pinned helm. Ends the process with one line of advice if
 * the build fails.
 * @returns the path of the executable.
 */
export function buildChartRenderer() {
  const version = createHash('sha256').update(readFileSync(RENDERER)).digest('hex').slice(0, 16)
  return installTool({
    name: `render-charts-${HELM_VERSION}-${version}`,
    file: 'render-charts',
    advice: GO_ADVICE,
    install(folder) {
      const module = downloadGoModule({ module: HELM_MODULE, version: HELM_VERSION })
      if (module === undefined) return false
      writeModule(folder, module)
      const args = ['build', '-C', folder, '-ldflags=-s -w', '-o', 'render-charts', '.']
      return spawnSync('go', args, { stdio: ['ignore', 2, 2] }).status === 0
    },
  })
}

/** Writes a module for the renderer. The module has the dependencies, versions and checksums of helm. */
function writeModule(folder, { Dir: helm, Sum, GoModSum }) {
  const [mod, sum] = ['go.mod', 'go.sum'].map((name) => readFileSync(join(helm, name), 'utf8'))
  const one = `${HELM_MODULE} ${HELM_VERSION}`
  writeFileSync(join(folder, 'go.mod'), mod.replace(/^module .*/m, `module render-charts\nrequire ${one}`))
  writeFileSync(join(folder, 'go.sum'), `${sum}${one} ${Sum}\n${one}/go.mod ${GoModSum}\n`)
  cpSync(RENDERER, join(folder, 'main.go'))
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installHelm()}\n`)
