import { type Dirent, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, type TextSource } from '../../platform/diagnostics/yaml/text-source.ts'

/**
 * The entries of a policy folder and of the folders directly in it (`team/courses.policy.yaml`), sorted, without hidden ones.
 * Or the error code of the folder that cannot be read, e.g. `ENOENT`; `folder` names it when it is a nested one.
 */
export type FolderSource =
  | { readonly names: readonly string[] }
  | { readonly code: string; readonly folder?: string }

/** What one look at the disk found: everything that decides who may do what. Plain data, so it travels between processes. */
export type PolicySources = {
  readonly folder: FolderSource
  /** Each file of the folder whose name is one of a policy. */
  readonly files: readonly { readonly name: string; readonly source: TextSource }[]
  /** The scope catalogue; undefined where it is not read again. */
  readonly scopes: TextSource | undefined
  /** What policies may extend; undefined where there is nothing, or it is not read again. */
  readonly presets: TextSource | undefined
  /** SHA-256 of all names and contents, in hexadecimal. */
  readonly hash: string
}

/** What the name of a policy file ends in, and of a file with tests. */
export const POLICY_SUFFIX = '.policy.yaml'
export const TESTS_SUFFIX = '_test.yaml'

/** The folders that policies are read from: the policy folder, and the folders directly in it. */
export function findPolicyFolders(dir: string): readonly string[] {
  try {
    const nested = nestedFolders(readdirSync(dir, { withFileTypes: true })).map((name) => join(dir, name))
    return [dir, ...nested.filter(isFolder)]
  } catch {
    return [dir]
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Lists a policy folder synchronously. Never throws. */
export function readFolder(dir: string): FolderSource {
  try {
    const entries = readdirSync(dir, { withFileTypes: true })
    const nested = nestedFolders(entries).map((folder) => listNested(dir, folder))
    const broken = nested.find((one) => 'code' in one)
    if (broken !== undefined) return broken
    const names = nested.flatMap((one) => ('names' in one ? one.names : []))
    return { names: [...visibleNames(entries.map(({ name }) => name)), ...names].toSorted() }
  } catch (error) {
    return { code: errorCode(error) }
  }
}

function listNested(dir: string, folder: string): FolderSource {
  try {
    return { names: visibleNames(readdirSync(join(dir, folder))).map((name) => `${folder}/${name}`) }
  } catch (error) {
    return unreadableFolder(folder, errorCode(error))
  }
}

/** The names of entries that may be folders with policies: one folder for each team or ConfigMap. */
export function nestedFolders(entries: readonly Dirent[]): readonly string[] {
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter((name) => !name.endsWith(POLICY_SUFFIX) && !name.endsWith(TESTS_SUFFIX) && !name.startsWith('.'))
    .toSorted()
}

/** A link to a file, or an entry that is gone, is not a folder. Any other failure would hide policies. */
export function unreadableFolder(folder: string, code: string): FolderSource {
  return ['ENOTDIR', 'ENOENT', 'ELOOP'].includes(code) ? { names: [] } : { code, folder }
}

/** Kubernetes keeps the files of a volume in hidden entries (`..data`). */
export function visibleNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !name.startsWith('.')).toSorted()
}
