// Builds h2spec from its Go module. Later runs reuse the executable.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GO_ADVICE } from './install-go-tool.js'
import { installTool } from './install-tool.js'

const MODULE = 'github.com/summerwind/h2spec'
const VERSION = 'v2.2.1+incompatible'
/** The module has no go.mod, so this file selects the versions of its dependencies. */
const GO_MOD = `module h2spec-build

go 1.26

require (
	${MODULE} ${VERSION}
	github.com/fatih/color v1.19.0
	github.com/spf13/cobra v1.10.2
	golang.org/x/net v0.62.0
)
`

/**
 * Ends the process with one line of advice if the installation fails.
 * @returns the path of the h2spec executable.
 */
export function installH2spec() {
  return installTool({ name: `h2spec-${VERSION}`, file: 'h2spec', advice: GO_ADVICE, install: build })
}

function build(folder) {
  writeFileSync(join(folder, 'go.mod'), GO_MOD)
  const args = ['build', '-C', folder, '-mod=mod', '-ldflags=-s -w', '-o', join(folder, 'h2spec')]
  return spawnSync('go', [...args, `${MODULE}/cmd/h2spec`], { stdio: ['ignore', 2, 2] }).status === 0
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installH2spec()}\n`)
