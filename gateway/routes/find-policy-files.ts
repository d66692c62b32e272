import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Diagnostic, diagnostic, wholeFile } from '../../runtime/diagnostic.ts'
import { displayPath } from '../../runtime/display-path.ts'

const POLICY = '.policy.yaml'
const TESTS = '_test.yaml'

/** The names of a folder's files, sorted: policies, and tests in files of their own. */
export type PolicyFiles = {
  readonly policies: readonly string[]
  readonly tests: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Looks for policies and their tests in a folder; what lies deeper is not looked at. Codes: P001 no such folder, P005 there
 * is no policy, P006 (warning) a file that looks like one is not read.
 */
export function findPolicyFiles(dir: string): PolicyFiles {
  const place = wholeFile(displayPath(dir))
  try {
    // Hidden entries are Kubernetes' own (`..data`).
    const names = readdirSync(dir)
      .filter((name) => !name.startsWith('.'))
      .toSorted()
    const policies = names.filter((name) => name.endsWith(POLICY))
    const tests = names.filter((name) => name.endsWith(TESTS))
    const almost = names.filter(
      (name) => /\.ya?ml$/i.test(name) && !name.endsWith(POLICY) && !name.endsWith(TESTS),
    )
    const diagnostics = almost.map((name) =>
      diagnostic(
        'P006',
        `this file is not read: its name does not end in ${POLICY} or ${TESTS}`,
        wholeFile(displayPath(join(dir, name))),
        {
          severity: 'warning',
          hint: 'rename it, or move it elsewhere',
        },
      ),
    )
    if (policies.length === 0) {
      diagnostics.push(
        diagnostic('P005', `there is no *${POLICY} in this folder`, place, {
          hint: 'without policies every request would be a 404',
        }),
      )
    }
    return { policies, tests, diagnostics }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const why =
      code === 'ENOENT'
        ? 'there is no such folder'
        : code === 'ENOTDIR'
          ? 'this is a file, not a folder'
          : `the folder cannot be read (${code})`
    const hint = 'the key "policies" of gateway.yaml names it, or --policies does'
    return { policies: [], tests: [], diagnostics: [diagnostic('P001', why, place, { hint })] }
  }
}
