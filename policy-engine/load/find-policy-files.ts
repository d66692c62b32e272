import { join } from 'node:path'
import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { type FolderSource, POLICY_SUFFIX, TESTS_SUFFIX } from './policy-sources.ts'

/** Paths relative to the policy folder, sorted: policies, and tests in files of their own. */
export type PolicyFiles = {
  readonly policies: readonly string[]
  readonly tests: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Finds policies and their tests in a folder and in the folders directly in it. Codes: P001 a folder cannot be read, P005 no
 * policy, P006 (warning) a YAML file with another suffix.
 */
export function findPolicyFiles(dir: string, folder: FolderSource): PolicyFiles {
  const place = wholeFile(displayPath(dir))
  if ('code' in folder) {
    const hint = 'the key "policies" of gateway.yaml names it, or --policies does'
    const at = folder.folder === undefined ? place : wholeFile(displayPath(join(dir, folder.folder)))
    const problem = diagnostic('P001', explainFolder(folder.code), at, { hint })
    return { policies: [], tests: [], diagnostics: [problem] }
  }
  const { names } = folder
  const policies = names.filter((name) => name.endsWith(POLICY_SUFFIX))
  const tests = names.filter((name) => name.endsWith(TESTS_SUFFIX))
  const almost = names.filter(
    (name) => /\.ya?ml$/i.test(name) && !name.endsWith(POLICY_SUFFIX) && !name.endsWith(TESTS_SUFFIX),
  )
  const diagnostics = almost.map((name) =>
    diagnostic(
      'P006',
      `this file is not read: its name does not end in ${POLICY_SUFFIX} or ${TESTS_SUFFIX}`,
      wholeFile(displayPath(join(dir, name))),
      { severity: 'warning', hint: 'rename it, or move it elsewhere' },
    ),
  )
  if (policies.length === 0) {
    diagnostics.push(
      diagnostic('P005', `there is no *${POLICY_SUFFIX} in this folder`, place, {
        hint: 'without policies every request would be a 404',
      }),
    )
  }
  return { policies, tests, diagnostics }
}

function explainFolder(code: string): string {
  if (code === 'ENOENT') return 'there is no such folder'
  if (code === 'ENOTDIR') return 'this is a file, not a folder'
  return `the folder cannot be read (${code})`
}
