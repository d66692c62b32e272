import { readFile, stat } from 'node:fs/promises'
import { discoverJwksUri } from './discover.ts'
import type { FetchDocument } from './fetch-document.ts'
import { IssuerKeysError } from './issuer-keys-error.ts'
import { type KeySet, readJwks } from './read-jwks.ts'

export type KeysLocation =
  /** The `jwks_uri` in the issuer's metadata. */
  | { readonly by: 'discovery' }
  | { readonly by: 'uri'; readonly uri: string }
  /** A local file that the operator maintains. */
  | { readonly by: 'file'; readonly file: string }

/**
 * Loads the published keys of an issuer.
 * @throws {IssuerKeysError} by rejection.
 */
export type LoadKeys = () => Promise<KeySet>

/** Maximum size of a key set. A key has about half a KiB. The gateway rejects larger documents. */
const KEYS_LIMIT_BYTES = 512 * 1024
/**
 * After this many consecutive failures, the gateway discovers the URL again, because the issuer may have moved its
 * keys.
 */
const FAILURES_BEFORE_DISCOVERY = 3

/** Creates a loader of an issuer's keys. The loader uses the discovered URL as long as this URL works. */
export function createKeySource(options: {
  readonly issuer: string
  readonly location: KeysLocation
  readonly algorithms: ReadonlySet<string>
  readonly fetchDocument: FetchDocument
  readonly timeoutMs: number
}): LoadKeys {
  const { issuer, location, algorithms, fetchDocument, timeoutMs } = options
  let found: string | undefined
  let failures = 0

  const toKeySet = (document: unknown, code: 'ERR_ISSUER_KEYS_RESPONSE' | 'ERR_ISSUER_KEYS_FILE'): KeySet => {
    const keys = readJwks(document, algorithms)
    if (keys === undefined)
      throw new IssuerKeysError(code, `The keys of ${issuer} are not a JWK Set (RFC 7517).`)
    return keys
  }

  if (location.by === 'file')
    return async () => toKeySet(await readKeysFile(location.file), 'ERR_ISSUER_KEYS_FILE')

  return async () => {
    if (location.by === 'discovery' && (found === undefined || failures >= FAILURES_BEFORE_DISCOVERY)) {
      failures = 0
      found = await discoverJwksUri(issuer, { fetchDocument, timeoutMs })
    }
    const address = location.by === 'uri' ? location.uri : (found ?? '')
    try {
      const document = await fetchDocument(address, { limitBytes: KEYS_LIMIT_BYTES, timeoutMs })
      const keys = toKeySet(document, 'ERR_ISSUER_KEYS_RESPONSE')
      failures = 0
      return keys
    } catch (error) {
      failures += 1
      throw error
    }
  }
}

async function readKeysFile(file: string): Promise<unknown> {
  try {
    const { size } = await stat(file)
    if (size > KEYS_LIMIT_BYTES) throw new Error(`more than ${KEYS_LIMIT_BYTES} bytes`)
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'not JSON, or too large'
    // The message of the parser error quotes the text. The new error therefore does not include the parser error as its
    // cause.
    throw new IssuerKeysError('ERR_ISSUER_KEYS_FILE', `The keys in ${file} cannot be read: ${code}.`)
  }
}
