// Builds test/helm/check-pods.go with the Pod Security Admission of Kubernetes. Later runs reuse the executable.
import { fileURLToPath } from 'node:url'
import { installGoProgram } from './install-go-tool.js'

/** Returns the path of the executable. */
export function installPodChecks() {
  return installGoProgram({
    // Kubernetes 1.37.
    ...{ module: 'k8s.io/pod-security-admission', version: 'v0.37.0' },
    ...{ name: 'check-pods', source: fileURLToPath(new URL('../test/helm/check-pods.go', import.meta.url)) },
  })
}
