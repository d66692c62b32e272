// Builds test/helm/check-compose.go with the loader of Docker Compose. Later runs reuse the executable.
import { fileURLToPath } from 'node:url'
import { installGoProgram } from './install-go-tool.js'

/** Returns the path of the executable. */
export function installComposeCheck() {
  return installGoProgram({
    ...{ module: 'github.com/compose-spec/compose-go/v2', version: 'v2.16.2' },
    name: 'check-compose',
    source: fileURLToPath(new URL('../test/helm/check-compose.go', import.meta.url)),
  })
}
