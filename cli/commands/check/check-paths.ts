import { lstatSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { isFolder, POLICY_SUFFIX, TESTS_SUFFIX } from '../../../policy-engine/load/policy-sources.ts'

export type CheckPaths = {
  readonly policiesDir: string
  /** Absolute paths of files in `policiesDir`. Undefined: the whole folder. */
  readonly files: readonly string[] | undefined
}

/**
 * Reads the arguments of `scopegate check`: one folder, or files of one folder. The check of a policy includes
 * the test file in the same folder.
 * @returns the scope of the check, or the problem with the arguments.
 */
export function readCheckPaths(
  words: readonly string[],
  from: string,
): CheckPaths | { readonly wrong: string } {
  const paths = words.map((word) => resolve(from, word))
  const [first = '', ...more] = paths
  if (more.length === 0 && !isPolicyName(first)) return { policiesDir: first, files: undefined }
  const invalid = paths.find((path) => isFolder(path) || !isPolicyName(path))
  if (invalid !== undefined)
    return {
      wrong: `several paths must all be policy files (*${POLICY_SUFFIX}): ${JSON.stringify(basename(invalid))} is not a policy file`,
    }
  const folder = dirname(first)
  if (paths.some((path) => dirname(path) !== folder))
    return { wrong: 'the files must be in one folder, because the check reads the whole folder' }
  // A broken symbolic link counts as existing, because the policy check reports such a link.
  const missing = paths.find((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined)
  if (missing !== undefined) return { wrong: `file not found: ${displayPath(missing)}` }
  const testFiles = paths.flatMap((path) =>
    path.endsWith(POLICY_SUFFIX) ? [`${path.slice(0, -POLICY_SUFFIX.length)}${TESTS_SUFFIX}`] : [],
  )
  return { policiesDir: folder, files: [...paths, ...testFiles] }
}

function isPolicyName(path: string): boolean {
  return path.endsWith(POLICY_SUFFIX) || path.endsWith(TESTS_SUFFIX)
}
