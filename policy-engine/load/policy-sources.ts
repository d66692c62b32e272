import { type Dirent, readdirSync, statSync } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../platform/diagnostics/error-code.ts'
import type { TextSource } from '../../platform/diagnostics/yaml/text-source.ts'

/**
 * Sorted entries of a policy folder and of its direct subfolders, without hidden entries.
 * For an unreadable folder, `code` is the error code, e.g. `ENOENT`. `folder` is the name of an unreadable subfolder.
 */
export type FolderSource =
  | { readonly names: readonly string[] }
  | { readonly code: string; readonly folder?: string }

/**
 * All files that determine authorization. Each file is read from disk only once. Plain data that processes can send to
 * each other.
 */
export type PolicySources = {
  readonly folder: FolderSource
  readonly files: readonly { readonly name: string; readonly source: TextSource }[]
  /** The scope catalogue. undefined: a reload does not read the catalogue again. */
  readonly scopes: TextSource | undefined
  /** The presets. undefined: the file does not exist, or a reload does not read the file again. */
  readonly presets: TextSource | undefined
  /** SHA-256 of all names and contents, in hexadecimal. */
  readonly hash: string
  /** The files of each policy source. undefined: `folder` and `files` contain all policies. */
  readonly sources?: readonly SourceFiles[] | undefined
}

export type PolicyFolder = Pick<PolicySources, 'folder' | 'files'>

export type SourceFiles = {
  readonly name: string
  /** Absolute path. */
  readonly folder: string
  readonly current: PolicyFolder
  /** The last valid version. Undefined if no version was valid. */
  readonly lastValid: PolicyFolder | undefined
}

/** Limits of one policy source, so that one source cannot use the memory and the time of all other sources. */
export const SOURCE_LIMITS = {
  files: 1_000,
  folders: 100,
  characters: 4 * 1024 * 1024,
  routes: 10_000,
  /** Characters of `upstreams.yaml`, and of `scopes.yaml`. The gateway parses each of these files in one step. */
  additionCharacters: 64 * 1024,
  upstreams: 100,
  scopes: 200,
  /** Entries of `implies`, in all scopes together. */
  implications: 64,
} as const

/**
 * Reasons why the gateway does not read the folder of a source. The gateway uses these names in place of system error
 * codes.
 */
export type SourceExcess = 'TOO_MANY_FILES' | 'TOO_MANY_FOLDERS' | 'TOO_MUCH_TEXT' | 'LINK_OUTSIDE'

export const POLICY_SUFFIX = '.policy.yaml'
export const TESTS_SUFFIX = '_test.yaml'
export const SOURCE_UPSTREAMS_FILE = 'upstreams.yaml'
export const SOURCE_SCOPES_FILE = 'scopes.yaml'

/** Returns whether a file in the folder of a policy source defines upstreams or scopes. */
export function isAdditionFile(name: string): boolean {
  return name === SOURCE_UPSTREAMS_FILE || name === SOURCE_SCOPES_FILE
}

/**
 * Yields the entries of a folder, without hidden entries and test files. Reads the folder in parts, so that a large
 * folder does not block the event loop, and a caller can stop at a limit.
 * @throws {Error} the system error if the folder cannot be read.
 */
export async function* policyEntries(dir: string): AsyncGenerator<Dirent, void, void> {
  for await (const entry of await opendir(dir))
    if (!entry.name.startsWith('.') && !entry.name.endsWith(TESTS_SUFFIX)) yield entry
}

/**
 * Returns the policy folder and its direct subfolders. Never rejects.
 * @param limits maximum number of subfolders, and of entries before the function stops. Default: no limits.
 */
export async function findPolicyFolders(
  dir: string,
  limits?: { readonly files: number; readonly folders: number },
): Promise<readonly string[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of policyEntries(dir)) {
      if (entries.length === limits?.files) break
      entries.push(entry)
    }
  } catch {
    return [dir]
  }
  const nested = nestedFolders(entries).slice(0, limits?.folders)
  const found = nested.map(async (name) => {
    const path = join(dir, name)
    const stats = await stat(path).catch(() => undefined)
    return stats?.isDirectory() === true ? [path] : []
  })
  return [dir, ...(await Promise.all(found)).flat()]
}

export function isFolder(path: string): boolean {
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

/** Returns the names of entries that can be subfolders with policies, for example one for each team or ConfigMap. */
export function nestedFolders(entries: readonly Dirent[]): readonly string[] {
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter((name) => !name.endsWith(POLICY_SUFFIX) && !name.endsWith(TESTS_SUFFIX) && !name.startsWith('.'))
    .toSorted()
}

/**
 * Ignores links to files and deleted entries. Returns every other error, because an ignored error would hide policies.
 */
export function unreadableFolder(folder: string, code: string): FolderSource {
  return ['ENOTDIR', 'ENOENT', 'ELOOP'].includes(code) ? { names: [] } : { code, folder }
}

/** Sorts names and removes hidden entries. Kubernetes stores the files of a volume in hidden entries (`..data`). */
export function visibleNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !name.startsWith('.')).toSorted()
}
