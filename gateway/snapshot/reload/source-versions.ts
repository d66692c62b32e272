import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { makeFolder } from '../../../platform/process/make-folder.ts'
import type { SourceState } from '../../../policy-engine/load/load-policy-sources.ts'
import {
  isAdditionFile,
  POLICY_SUFFIX,
  type PolicyFolder,
  type PolicySources,
  SOURCE_LIMITS,
  type SourceFiles,
} from '../../../policy-engine/load/policy-sources.ts'
import { hashOfFolder } from './read-policy-sources.ts'

/** The last valid version of each policy source, by name. Plain data that processes can send to each other. */
export type ValidVersions = readonly (VersionOwner & { readonly version: PolicyFolder })[]

/** The source that a version belongs to. A source with the same name and another folder is another source. */
type VersionOwner = Pick<SourceFiles, 'name' | 'folder'>

/** Store of the last valid version of each policy source, in memory and in `dataDir`. */
export type SourceVersions = {
  /** Adds the last valid versions to the files on the disk. Never rejects. */
  attach(sources: PolicySources): Promise<PolicySources>
  /**
   * Replaces the last valid versions of active policies with the newest versions. A worker that replaces a failed
   * worker then never activates an older version than the other workers.
   */
  renew(active: PolicySources): PolicySources
  /** Stores the versions of all sources whose files on the disk are valid. Never rejects. */
  keep(sources: PolicySources, states: readonly SourceState[]): Promise<void>
  /** The versions that a new worker gets in a rolling replacement. Other new workers get the active policies. */
  readonly all: ValidVersions
}

const FORMAT = 2
/** The name of a file that stores a version, or of an incomplete draft of this file. */
const FILE_NAME = /^policy-source-([a-z0-9-]+)\.json(?:\..+)?$/
/**
 * Maximum size of a file that stores a version. In JSON, a UTF-16 code unit needs at most 6 bytes. The file also
 * contains the names of the policy files. Bytes.
 */
const MAX_BYTES = SOURCE_LIMITS.characters * 6 + SOURCE_LIMITS.files * 1_024
/**
 * Mode bits for the write permission of the group and of other users. Another user with write permission could insert
 * policies.
 */
const OTHERS_MAY_WRITE = 0o022

/**
 * Opens the versions. A version from `dataDir` passes all checks of policies again before the gateway uses it.
 * @param options.dataDir undefined: the versions do not survive a restart.
 * @param options.known versions of another process. These versions replace the versions in `dataDir`.
 */
export function openSourceVersions({
  dataDir,
  known = [],
  logger,
}: {
  readonly dataDir: string | undefined
  readonly known?: ValidVersions | undefined
  readonly logger: Logger
}): SourceVersions {
  const versions = new Map<string, ValidVersions[number] | undefined>(known.map((one) => [one.name, one]))
  const unsaved = new Set<string>()
  let writing: Promise<void> = Promise.resolve()
  let knownNames = ''

  async function find(owner: VersionOwner): Promise<PolicyFolder | undefined> {
    const { name, folder } = owner
    if (versions.get(name)?.folder !== folder) versions.delete(name)
    if (!versions.has(name) && dataDir !== undefined) {
      const version = await readVersion(fileOf(dataDir, name), owner)
      versions.set(name, version && { name, folder, version })
    }
    return versions.get(name)?.version
  }

  /** Writes the newest version. An earlier write may have stored this version already. */
  async function store(name: string): Promise<void> {
    const newest = versions.get(name)
    if (dataDir === undefined || newest === undefined) return
    try {
      await writeVersion(fileOf(dataDir, name), newest)
      unsaved.delete(name)
    } catch (error) {
      const isKnown = unsaved.has(name)
      unsaved.add(name)
      if (isKnown) return
      logger.warn(
        { event: 'policy_source_not_stored', source: name, reason: errorCode(error), folder: dataDir },
        'the valid version of the policy source is not stored: dataDir must be a writable folder',
      )
    }
  }

  /**
   * Deletes the versions of sources that the configuration does not define. The removal of a source closes its paths. A
   * later source with the same name must not open these paths again.
   */
  async function removeOthers(sources: readonly VersionOwner[]): Promise<void> {
    const names = new Set(sources.map(({ name }) => name))
    const joined = [...names].toSorted().join(' ')
    if (joined === knownNames) return
    knownNames = joined
    for (const name of versions.keys()) if (!names.has(name)) versions.delete(name)
    if (dataDir === undefined) return
    const files = await readdir(dataDir).catch((): string[] => [])
    for (const file of files) {
      const name = FILE_NAME.exec(file)?.[1]
      if (name !== undefined && !names.has(name))
        await rm(join(dataDir, file), { force: true }).catch(() => undefined)
    }
  }

  return {
    async attach(read) {
      if (read.sources === undefined) return read
      await removeOthers(read.sources)
      const sources = []
      for (const one of read.sources) sources.push({ ...one, lastValid: await find(one) })
      return { ...read, sources }
    },
    async keep(read, states) {
      const valid = new Set(states.flatMap(({ name, state }) => (state === 'valid' ? [name] : [])))
      const changed = (read.sources ?? []).filter(({ name, current }) => {
        const earlier = versions.get(name)?.version
        if (!valid.has(name)) return false
        // After a failed write, the store tries again at each check of the files until a write succeeds.
        return unsaved.has(name) || earlier === undefined || hashOfFolder(earlier) !== hashOfFolder(current)
      })
      // Memory is updated before the disk, because another reload can begin before the write to the disk is complete.
      for (const { name, folder, current } of changed) versions.set(name, { name, folder, version: current })
      // One write at a time. Otherwise a slow write of an old version could replace a newer version.
      writing = writing.then(async () => {
        for (const { name } of changed) await store(name)
      })
      await writing
    },
    renew(active) {
      if (active.sources === undefined) return active
      const newest = (one: SourceFiles) => versions.get(one.name)?.version ?? one.lastValid
      return { ...active, sources: active.sources.map((one) => ({ ...one, lastValid: newest(one) })) }
    },
    get all() {
      return [...versions.values()].filter((one) => one !== undefined)
    },
  }
}

/** Names of sources contain only characters that are valid in a file name. */
function fileOf(dataDir: string, name: string): string {
  return join(dataDir, `policy-source-${name}.json`)
}

/** Writes a file atomically. Only the owner has access to the file. */
async function writeVersion(
  file: string,
  { name, folder, version: { files } }: ValidVersions[number],
): Promise<void> {
  makeFolder(dirname(file))
  const draft = `${file}.${randomUUID()}`
  const texts = files.flatMap((one) =>
    'text' in one.source ? [{ name: one.name, text: one.source.text }] : [],
  )
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify({ format: FORMAT, source: name, folder, files: texts })}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    throw error
  }
}

/**
 * @returns undefined unless the file is a readable, regular file of this user. Also returns undefined if other users
 * can write the file, or if the file is too large or has another format.
 */
async function readVersion(file: string, owner: VersionOwner): Promise<PolicyFolder | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (handle === undefined) return undefined
  try {
    const status = await handle.stat()
    const isOwn = process.getuid === undefined || status.uid === process.getuid()
    if (!isOwn || !status.isFile() || (status.mode & OTHERS_MAY_WRITE) !== 0 || status.size > MAX_BYTES)
      return undefined
    return parseVersion(JSON.parse(await handle.readFile('utf8')), owner)
  } catch {
    return undefined
  } finally {
    await handle.close()
  }
}

function parseVersion(value: unknown, { name, folder }: VersionOwner): PolicyFolder | undefined {
  if (!isRecord(value) || value['format'] !== FORMAT) return undefined
  if (value['source'] !== name || value['folder'] !== folder) return undefined
  const { files } = value
  if (!Array.isArray(files) || files.length > SOURCE_LIMITS.files) return undefined
  const read = files.flatMap((one: unknown) => {
    if (!isRecord(one)) return []
    const { name: file, text } = one
    return typeof file === 'string' && isPolicyName(file) && typeof text === 'string'
      ? [{ name: file, source: { text } }]
      : []
  })
  const characters = read.reduce((sum, { source }) => sum + source.text.length, 0)
  if (read.length !== files.length || characters > SOURCE_LIMITS.characters) return undefined
  return { folder: { names: read.map((one) => one.name).toSorted() }, files: read }
}

/**
 * Returns whether a file of a policy source can have this name: the name of a policy with at most one folder, or the
 * name of a file that defines upstreams or scopes.
 */
function isPolicyName(file: string): boolean {
  if (isAdditionFile(file)) return true
  const parts = file.split('/')
  return (
    parts.length <= 2 &&
    parts.every((part) => part !== '' && !part.startsWith('.')) &&
    file.endsWith(POLICY_SUFFIX)
  )
}
