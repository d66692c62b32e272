import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../../platform/process/make-folder.ts'

/** An issuer's public keys as they were fetched, and when. */
export type CachedJwks = {
  /** When the issuer last vouched for them. Milliseconds since the epoch. */
  readonly fetchedAtMs: number
  /** A key set with public members only: RFC 7517 section 5. It passes the rules for keys again when it is read. */
  readonly jwks: { readonly keys: readonly object[] }
}

/** Where an issuer's keys are kept while no gateway runs. */
export type JwksFileCache = {
  /** @returns undefined when there is none, or one that is not to be trusted. */
  read(): Promise<CachedJwks | undefined>
  write(copy: CachedJwks): Promise<void>
}

const VERSION = 1
/** As much as an issuer may send, and what surrounds it. */
const MAX_BYTES = 640 * 1024
/** Whoever else may write the file could put a key of his own there. */
const OTHERS_MAY_WRITE = 0o022

/**
 * Keeps a copy of an issuer's public keys in a folder, so that a gateway can start while the issuer is away. Written whole
 * or not at all, for its owner alone (0600); read back only as a plain file that nobody else could have written, for the same
 * configuration of the issuer, and not from the future.
 */
export function createJwksFileCache(options: {
  readonly dir: string
  /** Names the issuer's configuration, in characters that a file name may hold. */
  readonly id: string
  readonly nowMs: () => number
}): JwksFileCache {
  const { id, nowMs } = options
  const file = join(options.dir, `issuer-keys-${id}.json`)
  return {
    async read() {
      const text = await readOwnFile(file)
      return text === undefined ? undefined : parseCopy(text, { id, nowMs: nowMs() })
    },
    async write({ fetchedAtMs, jwks }) {
      makeFolder(dirname(file))
      const draft = `${file}.${randomUUID()}`
      try {
        const handle = await open(draft, 'wx', 0o600)
        try {
          await handle.writeFile(`${JSON.stringify({ version: VERSION, id, fetchedAtMs, jwks })}\n`)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(draft, file)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
  }
}

async function readOwnFile(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (handle === undefined) return undefined
  try {
    const { uid, mode, size, ...status } = await handle.stat()
    const isOwn = process.getuid === undefined || uid === process.getuid()
    if (!isOwn || (mode & OTHERS_MAY_WRITE) !== 0 || size > MAX_BYTES) return undefined
    return (mode & constants.S_IFMT) === constants.S_IFREG && status.nlink === 1
      ? await handle.readFile('utf8')
      : undefined
  } catch {
    return undefined
  } finally {
    await handle.close()
  }
}

function parseCopy(
  text: string,
  expected: { readonly id: string; readonly nowMs: number },
): CachedJwks | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const copy = new Map<string, unknown>(Object.entries(value))
  const fetchedAtMs = copy.get('fetchedAtMs')
  const jwks = copy.get('jwks')
  if (copy.get('version') !== VERSION || copy.get('id') !== expected.id) return undefined
  if (typeof fetchedAtMs !== 'number' || !(fetchedAtMs <= expected.nowMs)) return undefined
  if (typeof jwks !== 'object' || jwks === null || !('keys' in jwks) || !Array.isArray(jwks.keys))
    return undefined
  return { fetchedAtMs, jwks: { keys: jwks.keys } }
}
