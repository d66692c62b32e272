import { join } from 'node:path'
import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import {
  type FolderSource,
  isAdditionFile,
  POLICY_SUFFIX,
  SOURCE_LIMITS,
  TESTS_SUFFIX,
} from './policy-sources.ts'

/** Policy files and separate test files. Paths are relative to the policy folder and sorted. */
export type PolicyFiles = {
  readonly policies: readonly string[]
  readonly tests: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Finds policy files and test files in a folder and in its direct subfolders.
 * Codes: P001 unreadable folder; P005 no policy; P006 (warning) YAML file with another suffix; P007 folder above the
 * limits of a policy source.
 * @param options.isSource whether the folder belongs to a policy source.
 */
export function findPolicyFiles(
  dir: string,
  folder: FolderSource,
  { isSource }: { readonly isSource: boolean },
): PolicyFiles {
  const location = wholeFile(displayPath(dir))
  if ('code' in folder) {
    const hint = suggestFolder(folder.code, isSource)
    const at = folder.folder === undefined ? location : wholeFile(displayPath(join(dir, folder.folder)))
    const excess = explainExcess(folder.code)
    const problem =
      excess === undefined
        ? diagnostic('P001', explainFolder(folder.code), at, { hint })
        : diagnostic('P007', excess, location, { hint: 'remove files, or divide them over several sources' })
    return { policies: [], tests: [], diagnostics: [problem] }
  }
  const { names } = folder
  const policies = names.filter((name) => name.endsWith(POLICY_SUFFIX))
  const tests = names.filter((name) => name.endsWith(TESTS_SUFFIX))
  const almost = names.filter(
    (name) =>
      /\.ya?ml$/i.test(name) &&
      !name.endsWith(POLICY_SUFFIX) &&
      !name.endsWith(TESTS_SUFFIX) &&
      !(isSource && isAdditionFile(name)),
  )
  const diagnostics = almost.map((name) =>
    diagnostic(
      'P006',
      `this file is ignored: its name does not end in ${POLICY_SUFFIX} or ${TESTS_SUFFIX}`,
      wholeFile(displayPath(join(dir, name))),
      { severity: 'warning', hint: 'rename the file, or move it to another folder' },
    ),
  )
  if (policies.length === 0) {
    diagnostics.push(
      diagnostic('P005', `this folder contains no *${POLICY_SUFFIX} file`, location, {
        hint: isSource
          ? 'add the policies of the source, or remove the source from gateway.yaml'
          : 'without policies, every request gets a 404',
      }),
    )
  }
  return { policies, tests, diagnostics }
}

function suggestFolder(code: string, isSource: boolean): string {
  if (code === 'LINK_OUTSIDE') return 'replace the link by a copy of the folder'
  if (isPermissionError(code)) return 'grant read and execute permission to the user of this process'
  return isSource
    ? 'restore the folder, or correct "folder" of the source in gateway.yaml'
    : 'set "policies" in gateway.yaml, or --policies'
}

function explainFolder(code: string): string {
  if (code === 'ENOENT') return 'the folder does not exist'
  if (code === 'ENOTDIR') return 'this is a file, not a folder'
  if (code === 'LINK_OUTSIDE') return 'the symbolic link leads outside of the folder of the policy source'
  if (isPermissionError(code)) return 'permission denied'
  return `the folder cannot be read (${code})`
}

function explainExcess(code: string): string | undefined {
  if (code === 'TOO_MANY_FILES') return `the folder has more than ${SOURCE_LIMITS.files} files`
  if (code === 'TOO_MANY_FOLDERS') return `the folder has more than ${SOURCE_LIMITS.folders} subfolders`
  if (code === 'TOO_MUCH_TEXT')
    return `the policies of the folder have more than ${SOURCE_LIMITS.characters} characters`
  return undefined
}

function isPermissionError(code: string): boolean {
  return code === 'EACCES' || code === 'EPERM'
}
