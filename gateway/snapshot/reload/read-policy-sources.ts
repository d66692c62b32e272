import { hash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readlink, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import {
  isInside,
  readTextSourceAsync,
  readTextSourceInside,
  type TextSource,
} from '../../../platform/diagnostics/yaml/text-source.ts'
import {
  isAdditionFile,
  nestedFolders,
  POLICY_SUFFIX,
  type PolicyFolder,
  type PolicySources,
  policyEntries,
  SOURCE_LIMITS,
  type SourceExcess,
  type SourceFiles,
  unreadableFolder,
} from '../../../policy-engine/load/policy-sources.ts'
import type { PolicySource } from '../../../policy-engine/load/source-permissions.ts'

/** Locations of all files that a reload reads again. */
export type PolicyLocations = {
  readonly policiesDir: string
  /** Absent or empty: `policiesDir` contains all policies. */
  readonly policySources?: readonly SourceLocation[]
  /** The scope catalogue; undefined: reloads do not read the scope catalogue. */
  readonly scopesFile: string | undefined
  /** The presets; undefined: presets are not configured, or reloads do not read presets. */
  readonly presetsFile: string | undefined
}

/** Without `root`, the folder can be a link to any folder. */
export type SourceLocation = Pick<PolicySource, 'name' | 'folder'> & Partial<Pick<PolicySource, 'root'>>

/**
 * Maximum number of volume swaps during one read. After this number of swaps, the last read is used, even if the files
 * are from different versions.
 */
const MAX_SWAPS = 20
/** Kubernetes symlink to the folder with the current contents of a volume. */
const DATA_LINK = '..data'

/**
 * Reads all policies, the scope catalogue and the presets. Reads all files of a Kubernetes volume from the same
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
async function readSources(sources: readonly SourceLocation[]): Promise<readonly SourceFiles[]> {
  const read: SourceFiles[] = []
  for (const { name, folder, root } of sources)
    read.push({ name, folder, current: await readSource(folder, root), lastValid: undefined })
  return read
}

type Volume = PolicyFolder
/**
 * Entries of a folder: the path of each name, and the names that may be folders. Excludes test files, because the
 * gateway does not run tests.
 */
type Listing = { readonly paths: ReadonlyMap<string, string>; readonly folders: readonly string[] }
/** Remaining limits of one read of a policy source. The folders of a source share these limits. */
type Budget = {
  /** Real path of the folder of the source. Links must not lead outside of this folder. */
  readonly root: string
  files: number
  characters: number
}

/**
 * Reads a folder and its nested folders. Each folder can be a Kubernetes volume, whose contents can change during the
 * read. All files of a folder are therefore read from the same version.
 */
async function readVolume(dir: string): Promise<Volume> {
  return readPinned(dir, async ({ paths, folders }) => {
    const [own, ...nested] = await Promise.all([
      readFiles(paths),
      ...folders.map((name) => readNested(name, paths.get(name) ?? '', readFiles)),
    ])
    return mergeVolumes([own, ...nested])
  })
}

/**
 * Reads the folder of a policy source, one file after another. The read stops at the first exceeded limit, so that one
 * source cannot fill the memory. If the folder is a link that changes during the read, the function reads again.
 * @param outer folder that must contain the real path of `dir`. Undefined: `dir` can be a link to any folder.
 */
async function readSource(dir: string, outer: string | undefined): Promise<Volume> {
  for (let swaps = 0; ; swaps++) {
    const real = await realpath(dir).catch(() => undefined)
    const root = real ?? dir
    const volume = (await leavesOuter(real, outer))
      ? exceeds('LINK_OUTSIDE')
      : await readPinned(dir, (listing) => readWithinRoot(root, dir, listing), SOURCE_LIMITS.files)
    if (swaps === MAX_SWAPS || (await realpath(dir).catch(() => dir)) === root) return volume
  }
}

async function leavesOuter(real: string | undefined, outer: string | undefined): Promise<boolean> {
  if (real === undefined || outer === undefined) return false
  return !isInside(await realpath(outer).catch(() => outer), real)
}

async function readWithinRoot(root: string, dir: string, { paths, folders }: Listing): Promise<Volume> {
  if (folders.length > SOURCE_LIMITS.folders) return exceeds('TOO_MANY_FOLDERS')
  const { files, characters } = SOURCE_LIMITS
  const budget: Budget = { root, files, characters }
  if (await leadsOutside(budget, dir)) return exceeds('LINK_OUTSIDE')
  const volumes = [await readWithin(budget, paths, isAdditionFile)]
  for (const name of folders) {
    const last = volumes.at(-1)
    if (last !== undefined && 'code' in last.folder) return last
    volumes.push(await readNestedWithin(budget, name, paths.get(name) ?? ''))
  }
  return mergeVolumes(volumes)
}

function mergeVolumes(all: readonly Volume[]): Volume {
  const broken = all.find(({ folder }) => 'code' in folder)
  if (broken !== undefined) return broken
  const names = all.flatMap(({ folder }) => ('names' in folder ? folder.names : [])).toSorted()
  const files = all.flatMap((one) => one.files).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return { folder: { names }, files }
}

function exceeds(code: SourceExcess): Volume {
  return { folder: { code }, files: [] }
}

async function readNested(
  folder: string,
  dir: string,
  read: (paths: Listing['paths']) => Promise<Volume>,
  limit?: number,
): Promise<Volume> {
  const volume = await readPinned(dir, ({ paths }) => read(paths), limit)
  if ('code' in volume.folder) return { folder: unreadableFolder(folder, volume.folder.code), files: [] }
  return {
    folder: { names: volume.folder.names.map((name) => `${folder}/${name}`) },
    files: volume.files.map(({ name, source }) => ({ name: `${folder}/${name}`, source })),
  }
}

async function readNestedWithin(budget: Budget, folder: string, dir: string): Promise<Volume> {
  if (await leadsOutside(budget, dir)) return { folder: { code: 'LINK_OUTSIDE', folder }, files: [] }
  const { files, characters } = budget
  const read = (paths: Listing['paths']): Promise<Volume> => {
    // The volume can change during a read. The next read then begins with the same limits.
    Object.assign(budget, { files, characters })
    return readWithin(budget, paths)
  }
  return readNested(folder, dir, read, files)
}

/** Returns whether a folder, or the current contents of a volume, lie outside of the folder of the source. */
async function leadsOutside({ root }: Budget, dir: string): Promise<boolean> {
  const isOutside = async (path: string): Promise<boolean> => {
    try {
      return !isInside(root, await realpath(path)) && (await stat(path)).isDirectory()
    } catch {
      return false
    }
  }
  return (await isOutside(dir)) || (await isOutside(join(dir, DATA_LINK)))
}

async function readPinned(
  dir: string,
  read: (listing: Listing) => Promise<Volume>,
  limit?: number,
): Promise<Volume> {
  for (let swaps = 0; ; swaps++) {
    const pinned = await pinnedFolder(dir)
    const listing = await listFolder(dir, pinned, limit)
    const volume =
      typeof listing === 'string' ? { folder: { code: listing }, files: [] } : await read(listing)
    if (swaps === MAX_SWAPS || (await pinnedFolder(dir)) === pinned) return volume
  }
}

/** Returns the current folder of a volume; undefined for an ordinary folder. */
function pinnedFolder(dir: string): Promise<string | undefined> {
  return realpath(join(dir, DATA_LINK)).catch(() => undefined)
}

async function readFiles(paths: Listing['paths']): Promise<Volume> {
  const names = [...paths.keys()].toSorted()
  const read = async (name: string) => ({ name, source: await readTextSourceAsync(paths.get(name) ?? '') })
  const policies = names.filter((name) => name.endsWith(POLICY_SUFFIX))
  return { folder: { names }, files: await Promise.all(policies.map(read)) }
}

/**
 * Reads the policies of a folder within a budget.
 * @param isAlsoRead selects files to read in addition to the policies. Default: reads only policies.
 */
async function readWithin(
  budget: Budget,
  paths: Listing['paths'],
  isAlsoRead: (name: string) => boolean = () => false,
): Promise<Volume> {
  const names = [...paths.keys()].toSorted()
  budget.files -= names.length
  if (budget.files < 0) return exceeds('TOO_MANY_FILES')
  const files: PolicyFolder['files'][number][] = []
  for (const name of names.filter((one) => one.endsWith(POLICY_SUFFIX) || isAlsoRead(one))) {
    const source = await readTextSourceInside(budget.root, paths.get(name) ?? '')
    if ('text' in source) budget.characters -= source.text.length
    if (budget.characters < 0) return exceeds('TOO_MUCH_TEXT')
    files.push({ name, source })
  }
  return { folder: { names }, files }
}

/**
 * Lists a folder.
 * @param limit the function stops after this number of entries and one more, which shows that the folder exceeds the
 * limit. Default: no limit.
 * @returns the entries of the folder, or the code of the read error.
 */
export async function listFolder(
  dir: string,
  pinned: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): Promise<Listing | string> {
  const paths = new Map<string, string>()
  const entries: Dirent[] = []
  try {
    for (const folder of pinned === undefined ? [dir] : [pinned, dir])
      for await (const entry of policyEntries(folder)) {
        if (entries.length > limit) break
        if (pinned !== undefined && folder === dir && !(await isBesideVolume(dir, entry.name))) continue
        // The volume has precedence over other entries of the folder.
        if (paths.has(entry.name)) continue
        paths.set(entry.name, join(folder, entry.name))
        entries.push(entry)
      }
  } catch (error) {
    return errorCode(error)
  }
  return { paths, folders: nestedFolders(entries) }
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
