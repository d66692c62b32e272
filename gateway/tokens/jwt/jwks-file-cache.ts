import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../../platform/process/make-folder.ts'

export type CachedJwks = {
  /** Time of the fetch from the issuer. Milliseconds since the epoch. */
  readonly fetchedAtMs: number
  /** A key set with public members only (RFC 7517 section 5). The reader validates each key again. */
  readonly jwks: { readonly keys: readonly object[] }
}

/** A file with the keys of an issuer, which survives a restart of the gateway. */
export type JwksFileCache = {
  /** @returns undefined when the file is missing or not trustworthy. */
  read(): Promise<CachedJwks | undefined>
  write(copy: CachedJwks): Promise<void>
}

const VERSION = 1
/** Maximum size of a key set, plus the other members of the file. Bytes. */
const MAX_BYTES = 640 * 1024
/**
 * Mode bits for the write permission of the group and of other users. Another user with write permission could insert a
 * key.
 */
const OTHERS_MAY_WRITE = 0o022

/**
 * Creates a file cache for the public keys of an issuer, so that a gateway can start while the issuer is unavailable.
 * Writes are atomic, and only the owner has access (0600).
 * A file is read only if it is a regular file and no other user can have written the file. The file must be for the
 * current configuration of the issuer. The fetch time in the file must not be in the future.
 */
export function createJwksFileCache(options: {
  readonly dir: string
  /** Identifies the issuer's configuration. Contains only characters that are valid in a file name. */
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
