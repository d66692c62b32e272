// Installs the tools that check the Helm chart. Later runs find the same tools.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installComposeCheck } from './install-compose-check.js'
import { buildChartRenderer, installHelm } from './install-helm.js'
import { installHelmUnittest } from './install-helm-unittest.js'
import { installKubeconform, installKubeSchemas } from './install-kubeconform.js'
import { installPodChecks } from './install-pod-checks.js'
import { installPromtool } from './install-promtool.js'

/**
 * Ends the process with one line of advice if an installation fails.
 * @returns environment variables with the paths of the tools.
 */
export function installChartTools() {
  return {
    SCOPEGATE_HELM: installHelm(),
    SCOPEGATE_CHART_RENDERER: buildChartRenderer(),
    SCOPEGATE_HELM_UNITTEST: installHelmUnittest(),
    SCOPEGATE_PROMTOOL: installPromtool(),
    SCOPEGATE_KUBECONFORM: installKubeconform(),
    SCOPEGATE_KUBE_SCHEMAS: installKubeSchemas(),
    SCOPEGATE_POD_CHECKS: installPodChecks(),
    SCOPEGATE_COMPOSE_CHECK: installComposeCheck(),
  }
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) installChartTools()
