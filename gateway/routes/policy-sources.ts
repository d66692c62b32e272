import { readdirSync } from 'node:fs'
import { errorCode, type TextSource } from '../../runtime/text-source.ts'

/** The names in a folder, sorted, without hidden ones; or what the system said, e.g. `ENOENT`. */
export type FolderSource = { readonly names: readonly string[] } | { readonly code: string }

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

/** Reads a folder's names at once. Nothing is thrown. */
export function readFolder(dir: string): FolderSource {
  try {
    return { names: visibleNames(readdirSync(dir)) }
  } catch (error) {
    return { code: errorCode(error) }
  }
}

/** Hidden entries are Kubernetes' own (`..data`). */
export function visibleNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !name.startsWith('.')).toSorted()
}
