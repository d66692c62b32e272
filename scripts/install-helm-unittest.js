// Builds helm-unittest, which runs the test suites in helm/tests. Later runs reuse the executable.
import { installGoTool } from './install-go-tool.js'

/** Returns the path of the executable. */
export function installHelmUnittest() {
  return installGoTool({
    ...{ module: 'github.com/helm-unittest/helm-unittest', version: 'v1.0.3' },
    ...{ name: 'helm-unittest', main: './cmd/helm-unittest' },
  })
}
