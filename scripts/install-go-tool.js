// Builds tools from Go modules.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
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
      return source !== undefined && build(source, { folder, name, main })
    },
  })
}

/**
 * Builds the file `source` in a new module with the dependencies, versions and checksums of `module`.
 * @returns the path of the executable `name`.
 */
export function installGoProgram({ module, version, name, source }) {
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)
  return installTool({
    name: `${name}-${version}-${hash}`,
    file: name,
    advice: GO_ADVICE,
    install(folder) {
      const downloaded = downloadGoModule({ module, version })
      if (downloaded === undefined) return false
      const [mod, sum] = ['go.mod', 'go.sum'].map((file) => readFileSync(join(downloaded.Dir, file), 'utf8'))
      const one = `${module} ${version}`
      writeFileSync(join(folder, 'go.mod'), mod.replace(/^module .*/m, `module ${name}\nrequire ${one}`))
      writeFileSync(
        join(folder, 'go.sum'),
        `${sum}${one} ${downloaded.Sum}\n${one}/go.mod ${downloaded.GoModSum}\n`,
      )
      cpSync(source, join(folder, 'main.go'))
      return build(folder, { folder, name, main: '.' })
    },
  })
}

/** Builds the program `main` of the module in `source`. Returns whether the build succeeded. */
function build(source, { folder, name, main }) {
  const args = ['build', '-C', source, '-ldflags=-s -w', '-o', join(folder, name), main]
  return spawnSync('go', args, { stdio: ['ignore', 2, 2] }).status === 0
}

/** Returns the folder (`Dir`) and the checksums of a module. Returns undefined if the download fails. */
export function downloadGoModule({ module, version }) {
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
  })
  return status === 0 ? JSON.parse(stdout) : undefined
}
