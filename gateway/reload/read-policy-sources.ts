import { hash } from 'node:crypto'
import { readdir, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, readTextSourceLater, type TextSource } from '../../runtime/text-source.ts'
import { POLICY_SUFFIX, type PolicySources, TESTS_SUFFIX, visibleNames } from '../routes/policy-sources.ts'

/** Where everything lies that is read again while the gateway runs. */
export type PolicyPlaces = {
  readonly policiesDir: string
  /** The scope catalogue; undefined: it is not read again. */
  readonly scopesFile: string | undefined
  /** The presets; undefined: there are none, or they are not read again. */
  readonly presetsFile: string | undefined
}

/** A volume that is swapped more often than that while it is being read is read as it is. */
const MOST_SWAPS = 20
/** Kubernetes' link to the folder that holds a volume's present contents. */
const DATA_LINK = '..data'

/**
 * Reads every policy, the scope catalogue and the presets. A volume of Kubernetes is read from one of its versions, never half from the
 * old one and half from the new one. Never rejects: what cannot be read says so.
 */
export async function readPolicySources(places: PolicyPlaces): Promise<PolicySources> {
  const { policiesDir, scopesFile, presetsFile } = places
  const [{ folder, files }, scopes, presets] = await Promise.all([
    readVolume(policiesDir),
    scopesFile === undefined ? undefined : readTextSourceLater(scopesFile),
    presetsFile === undefined ? undefined : readTextSourceLater(presetsFile),
  ])
  return { folder, files, scopes, presets, hash: hashOf({ folder, files, scopes, presets }) }
}

type Volume = Pick<PolicySources, 'folder' | 'files'>

async function readVolume(dir: string): Promise<Volume> {
  for (let swaps = 0; ; swaps++) {
    const pinned = await pinnedFolder(dir)
    const volume = await readAll(dir, pinned)
    if (swaps === MOST_SWAPS || (await pinnedFolder(dir)) === pinned) return volume
  }
}

/** The folder that the volume shows right now; undefined for an ordinary folder. */
function pinnedFolder(dir: string): Promise<string | undefined> {
  return realpath(join(dir, DATA_LINK)).catch(() => undefined)
}

async function readAll(dir: string, pinned: string | undefined): Promise<Volume> {
  const placeOf = await listFolder(dir, pinned)
  if (typeof placeOf === 'string') return { folder: { code: placeOf }, files: [] }
  // Tests are for those who check policies, not for what serves requests.
  const names = visibleNames([...placeOf.keys()]).filter((name) => !name.endsWith(TESTS_SUFFIX))
  const files = await Promise.all(
    names
      .filter((name) => name.endsWith(POLICY_SUFFIX))
      .map(async (name) => ({ name, source: await readTextSourceLater(placeOf.get(name) ?? '') })),
  )
  return { folder: { names }, files }
}

/** @returns the path of each file by its name, or what the system said. */
async function listFolder(
  dir: string,
  pinned: string | undefined,
): Promise<ReadonlyMap<string, string> | string> {
  try {
    const names = await readdir(dir)
    if (pinned === undefined) return new Map(names.map((name) => [name, join(dir, name)]))
    const own = await Promise.all(
      names.map(async (name) => ((await isBesideVolume(dir, name)) ? [name] : [])),
    )
    const ofVolume = await readdir(pinned)
    return new Map([
      ...own.flat().map((name): [string, string] => [name, join(dir, name)]),
      ...ofVolume.map((name): [string, string] => [name, join(pinned, name)]),
    ])
  } catch (error) {
    return errorCode(error)
  }
}

/** Names of a volume lead by way of its link; others somebody put beside them. */
async function isBesideVolume(dir: string, name: string): Promise<boolean> {
  try {
    return !(await readlink(join(dir, name))).startsWith(`${DATA_LINK}/`)
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}

function hashOf({ folder, files, scopes, presets }: Omit<PolicySources, 'hash'>): string {
  const parts = [
    'code' in folder ? folder.code : '',
    ...files.flatMap(({ name, source }) => [name, contentOf(source)]),
    scopes === undefined ? '' : contentOf(scopes),
    presets === undefined ? '' : contentOf(presets),
  ]
  return hash('sha256', parts.map((part) => `${part.length}:${part}`).join(''), 'hex')
}

function contentOf(source: TextSource): string {
  return 'text' in source ? source.text : JSON.stringify(source)
}
