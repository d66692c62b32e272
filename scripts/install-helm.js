// Builds the pinned helm from source as a Go module. Later runs reuse the executable. Prints its path on standard
// output.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GO_ADVICE, installGoProgram } from './install-go-tool.js'
import { installTool } from './install-tool.js'

const HELM_VERSION = 'v3.22.0'
const HELM_MODULE = 'helm.sh/helm/v3'

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
  return installGoProgram({
    ...{ module: HELM_MODULE, version: HELM_VERSION, name: 'render-charts' },
    source: fileURLToPath(new URL('../test/helm/render-charts.go', import.meta.url)),
  })
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installHelm()}\n`)
