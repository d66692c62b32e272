// Builds tools from Go modules.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installTool } from './install-tool.js'

export const GO_ADVICE =
  'The build needs Go 1.26 or later (https://go.dev/doc/install) and access to the Go module proxy.'

/**
 * Builds the program `main` within its module, so that the `replace` directives of the module apply.
 * @returns the path of the executable `name`.
 */
export function installGoTool({ module, version, name, main }) {
  return installTool({
    name: `${name}-${version}`,
    file: name,
    advice: GO_ADVICE,
    install(folder) {
      const source = downloadGoModule({ module, version })?.Dir
      if (source === undefined) return false
      const args = ['build', '-C', source, '-ldflags=-s -w', '-o', join(folder, name), main]
      return spawnSync('go', args, { stdio: ['ignore', 2, 2] }).status === 0
    },
  })
}

/** Returns the folder (`Dir`) and the checksums of a module. Returns undefined if the download fails. */
export function downloadGoModule({ module, version }) {
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
  })
  return status === 0 ? JSON.parse(stdout) : undefined
}
