import type { FetchDocument } from './fetch-document.ts'
import { isProtectedAddress } from './is-protected-address.ts'
import { IssuerKeysError } from './issuer-keys-error.ts'

/** Maximum size of metadata. Typical metadata has a few KiB. The gateway rejects larger documents. */
const METADATA_LIMIT_BYTES = 256 * 1024

/**
 * Returns the URL of an issuer's keys. Tries OAuth metadata first, then OpenID Connect metadata. The `issuer` in the
 * metadata must be identical, including a trailing slash.
 * Source: RFC 8414 sections 3 and 3.3, OpenID Connect Discovery 1.0 section 4.
 * Cost: one or two HTTP requests. The second request follows only when the first response is not usable metadata.
 * @throws {IssuerKeysError} by rejection: ERR_ISSUER_KEYS_METADATA, and the errors of `fetchDocument`.
 */
export async function discoverJwksUri(
  issuer: string,
  options: { readonly fetchDocument: FetchDocument; readonly timeoutMs: number },
): Promise<string> {
  let failure: unknown
  for (const address of metadataUrls(issuer)) {
    try {
      const document = await options.fetchDocument(address, {
        limitBytes: METADATA_LIMIT_BYTES,
        timeoutMs: options.timeoutMs,
      })
      return readKeysAddress(document, { issuer, address })
    } catch (error) {
      // If the issuer does not respond at one URL, a request to the other URL would fail too.
      if (!(error instanceof IssuerKeysError) || !RESPONSE_ERRORS.has(error.code)) throw error
      failure ??= error
    }
  }
  throw failure
}

const RESPONSE_ERRORS: ReadonlySet<string> = new Set([
  'ERR_ISSUER_KEYS_STATUS',
  'ERR_ISSUER_KEYS_RESPONSE',
  'ERR_ISSUER_KEYS_METADATA',
])

/**
 * Returns the metadata URLs of an issuer. RFC 8414 section 3.1 puts the well-known part before the path of the issuer.
 * OpenID Connect puts the well-known part after the path.
 */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
}

function readKeysAddress(
  document: unknown,
  expected: { readonly issuer: string; readonly address: string },
): string {
  const { issuer, address } = expected
  const metadata = new Map<string, unknown>(
    typeof document === 'object' && document !== null ? Object.entries(document) : [],
  )
  if (metadata.get('issuer') !== issuer)
    throw new IssuerKeysError('ERR_ISSUER_KEYS_METADATA', `${address}: "issuer" must be ${issuer}.`)
  const keys = metadata.get('jwks_uri')
  // The URL of the keys must be protected at least as well as the URL of the metadata. For a remote issuer, a URL of
  // this machine is therefore not valid.
  const isElsewhere = new URL(address).protocol === 'https:'
  if (
    typeof keys !== 'string' ||
    !isProtectedAddress(keys) ||
    (isElsewhere && new URL(keys).protocol !== 'https:')
  )
    throw new IssuerKeysError(
      'ERR_ISSUER_KEYS_METADATA',
      `${address}: "jwks_uri" must be an https URL (http is allowed only for an issuer that uses http on this machine).`,
    )
  return keys
}
