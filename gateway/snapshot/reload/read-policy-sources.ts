import { hash } from 'node:crypto'
import { readdir, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { readTextSourceAsync, type TextSource } from '../../../platform/diagnostics/yaml/text-source.ts'
import {
  nestedFolders,
  POLICY_SUFFIX,
  type PolicyFolder,
  type PolicySources,
  SOURCE_LIMITS,
  type SourceExcess,
  type SourceFiles,
  TESTS_SUFFIX,
  unreadableFolder,
  visibleNames,
} from '../../../policy-engine/load/policy-sources.ts'
import type { PolicySource } from '../../../policy-engine/load/source-permissions.ts'

/** Locations of all files that a reload reads again. */
export type PolicyLocations = {
  readonly policiesDir: string
  /** Absent or empty: `policiesDir` contains all policies. */
  readonly policySources?: readonly Pick<PolicySource, 'name' | 'folder'>[]
  /** The scope catalogue; undefined: reloads do not read the scope catalogue. */
  readonly scopesFile: string | undefined
  /** The presets; undefined: presets are not configured, or reloads do not read presets. */
  readonly presetsFile: string | undefined
}

/**
 * Maximum number of volume swaps during one read. After this number of swaps, the last read is used, even if the files
 * are from different versions.
 */
const MAX_SWAPS = 20
/** Kubernetes symlink to the folder with the current contents of a volume. */
const DATA_LINK = '..data'

/**
 * Reads all policies, the scope catalogue and the presets. All files of a Kubernetes volume are read from the same
 * version. Never rejects: the result states which file or folder is unreadable.
 */
export async function readPolicySources(locations: PolicyLocations): Promise<PolicySources> {
  const { policiesDir, policySources = [], scopesFile, presetsFile } = locations
  const named = policySources.length > 0
  const [{ folder, files }, scopes, presets, sources] = await Promise.all([
    named ? NO_FILES : readVolume(policiesDir),
    scopesFile === undefined ? undefined : readTextSourceAsync(scopesFile),
    presetsFile === undefined ? undefined : readTextSourceAsync(presetsFile),
    named ? readSources(policySources) : undefined,
  ])
  const read = { folder, files, scopes, presets, sources }
  return { ...read, hash: hashOf(read) }
}

const NO_FILES: PolicyFolder = { folder: { names: [] }, files: [] }

/**
 * Reads one source after another. The limits of one source therefore also limit the memory that reads need at one time.
 */
async function readSources(
  sources: readonly Pick<PolicySource, 'name' | 'folder'>[],
): Promise<readonly SourceFiles[]> {
  const read: SourceFiles[] = []
  for (const { name, folder } of sources)
    read.push({ name, current: await readVolume(folder, SOURCE_LIMITS), lastValid: undefined })
  return read
}

type Volume = PolicyFolder
type Limits = typeof SOURCE_LIMITS
/** Entries of a folder: the path of each name, and the names that may be folders. */
type Listing = { readonly paths: ReadonlyMap<string, string>; readonly folders: readonly string[] }

/**
 * Reads a folder and its nested folders. Each folder can be a Kubernetes volume, whose contents can change during the
 * read. All files of a folder are therefore read from the same version.
 */
async function readVolume(dir: string, limits?: Limits): Promise<Volume> {
  return readPinned(dir, async ({ paths, folders }) => {
    if (limits !== undefined && folders.length > limits.folders) return exceeds('TOO_MANY_FOLDERS')
    const [own, ...nested] = await Promise.all([
      readFiles(paths, limits),
      ...folders.map((name) => readNested(name, paths.get(name) ?? '', limits)),
    ])
    const broken = [own, ...nested].find(({ folder }) => 'code' in folder)
    if (broken !== undefined) return broken
    const all = [own, ...nested]
    const names = all.flatMap(({ folder }) => ('names' in folder ? folder.names : [])).toSorted()
    const files = all.flatMap((one) => one.files).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    if (limits === undefined) return { folder: { names }, files }
    if (names.length > limits.files) return exceeds('TOO_MANY_FILES')
    return charactersOf(files) > limits.characters ? exceeds('TOO_MUCH_TEXT') : { folder: { names }, files }
  })
}

function exceeds(code: SourceExcess): Volume {
  return { folder: { code }, files: [] }
}

function charactersOf(files: PolicyFolder['files']): number {
  return files.reduce((sum, { source }) => sum + ('text' in source ? source.text.length : 0), 0)
}

async function readNested(folder: string, dir: string, limits?: Limits): Promise<Volume> {
  const volume = await readPinned(dir, ({ paths }) => readFiles(paths, limits))
  if ('code' in volume.folder) return { folder: unreadableFolder(folder, volume.folder.code), files: [] }
  return {
    folder: { names: volume.folder.names.map((name) => `${folder}/${name}`) },
    files: volume.files.map(({ name, source }) => ({ name: `${folder}/${name}`, source })),
  }
}

async function readPinned(dir: string, read: (listing: Listing) => Promise<Volume>): Promise<Volume> {
  for (let swaps = 0; ; swaps++) {
    const pinned = await pinnedFolder(dir)
    const listing = await listFolder(dir, pinned)
    const volume =
      typeof listing === 'string' ? { folder: { code: listing }, files: [] } : await read(listing)
    if (swaps === MAX_SWAPS || (await pinnedFolder(dir)) === pinned) return volume
  }
}

/** Returns the current folder of a volume; undefined for an ordinary folder. */
function pinnedFolder(dir: string): Promise<string | undefined> {
  return realpath(join(dir, DATA_LINK)).catch(() => undefined)
}

async function readFiles(paths: Listing['paths'], limits?: Limits): Promise<Volume> {
  // The gateway does not run tests, so it does not read test files.
  const names = visibleNames([...paths.keys()]).filter((name) => !name.endsWith(TESTS_SUFFIX))
  const policies = names.filter((name) => name.endsWith(POLICY_SUFFIX))
  const read = async (name: string) => ({ name, source: await readTextSourceAsync(paths.get(name) ?? '') })
  if (limits === undefined) return { folder: { names }, files: await Promise.all(policies.map(read)) }
  if (names.length > limits.files) return exceeds('TOO_MANY_FILES')
  const files: Awaited<ReturnType<typeof read>>[] = []
  let characters = 0
  for (const name of policies) {
    const one = await read(name)
    files.push(one)
    characters += charactersOf([one])
    if (characters > limits.characters) return exceeds('TOO_MUCH_TEXT')
  }
  return { folder: { names }, files }
}

/** @returns the entries, or the error code of the folder. */
async function listFolder(dir: string, pinned: string | undefined): Promise<Listing | string> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    const own =
      pinned === undefined
        ? entries
        : (
            await Promise.all(
              entries.map(async (entry) => ((await isBesideVolume(dir, entry.name)) ? [entry] : [])),
            )
          ).flat()
    const ofVolume = pinned === undefined ? [] : await readdir(pinned, { withFileTypes: true })
    return {
      paths: new Map([
        ...own.map(({ name }): [string, string] => [name, join(dir, name)]),
        ...ofVolume.map(({ name }): [string, string] => [name, join(pinned ?? dir, name)]),
      ]),
      folders: nestedFolders([...own, ...ofVolume]),
    }
  } catch (error) {
    return errorCode(error)
  }
}

/** Returns whether an entry does not belong to the volume. Entries of the volume are links through `..data`. */
async function isBesideVolume(dir: string, name: string): Promise<boolean> {
  try {
    return !(await readlink(join(dir, name))).startsWith(`${DATA_LINK}/`)
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}

function hashOf({ folder, files, scopes, presets, sources = [] }: Omit<PolicySources, 'hash'>): string {
  const parts = [
    ...partsOf({ folder, files }),
    scopes === undefined ? '' : contentOf(scopes),
    presets === undefined ? '' : contentOf(presets),
    ...sources.flatMap(({ name, current }) => [name, ...partsOf(current)]),
  ]
  return hashParts(parts)
}

/** Returns the SHA-256 of the names and contents of a folder, in hexadecimal. */
export function hashOfFolder(folder: PolicyFolder): string {
  return hashParts(partsOf(folder))
}

function partsOf({ folder, files }: PolicyFolder): readonly string[] {
  return [
    'code' in folder ? `${folder.code}:${folder.folder ?? ''}` : '',
    ...files.flatMap(({ name, source }) => [name, contentOf(source)]),
  ]
}

function hashParts(parts: readonly string[]): string {
  return hash('sha256', parts.map((part) => `${part.length}:${part}`).join(''), 'hex')
}

function contentOf(source: TextSource): string {
  return 'text' in source ? source.text : JSON.stringify(source)
}
