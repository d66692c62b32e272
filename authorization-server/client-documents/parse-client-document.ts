import { parseJsonObject } from '../../oauth/jwt/parse-json-object.ts'
import { isLoopbackRedirect } from '../register/client-registration.ts'
import { ClientDocumentError } from './client-document-error.ts'

/**
 * The metadata of a client that the server uses. Source: draft-ietf-oauth-client-id-metadata-document-02, RFC 7591
 * section 2. The server ignores all other members, and never fetches URLs in these members.
 */
export type ClientDocument = {
  readonly client_id: string
  readonly client_name?: string
  readonly application_type: 'native'
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: 'none'
  readonly grant_types: readonly ['authorization_code', 'refresh_token']
  readonly response_types: readonly ['code']
  /** True: all access tokens are bound to keys. RFC 9449 section 5.2. */
  readonly dpop_bound_access_tokens?: true
}

const MAX_REDIRECT_URIS = 50
const MAX_REDIRECT_URI_LENGTH = 1_024
const MAX_NAME_LENGTH = 200

/** A listed host counts as known to the operator, so its documents may use each loopback host. RFC 8252 section 7.3. */
const LOOPBACK = { loopbackHosts: ['127.0.0.1', '[::1]', 'localhost'], portOptional: true } as const

/**
 * Reads the text of a client document.
 * @param url the URL of the document, which is also the `client_id`.
 * @throws {ClientDocumentError} for a document that the server does not accept.
 */
export function parseClientDocument(text: string, url: string): ClientDocument {
  const members = parseJsonObject(text)
  if (members === undefined) throw new ClientDocumentError('not_json')
  if (members.get('client_id') !== url) throw new ClientDocumentError('client_id')
  if (members.has('client_secret') || members.has('client_secret_expires_at'))
    throw new ClientDocumentError('client_secret')
  if (!isPublicClient(members)) throw new ClientDocumentError('client_authentication')
  if (!includes(members.get('grant_types'), 'authorization_code'))
    throw new ClientDocumentError('grant_types')
  if (!includes(members.get('response_types'), 'code')) throw new ClientDocumentError('response_types')
  const name = members.get('client_name')
  if (name !== undefined && !isText(name, MAX_NAME_LENGTH)) throw new ClientDocumentError('client_name')
  return {
    client_id: url,
    ...(name === undefined ? {} : { client_name: name }),
    application_type: 'native',
    redirect_uris: readRedirectUris(members.get('redirect_uris'), new URL(url).host),
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...(members.get('dpop_bound_access_tokens') === true ? { dpop_bound_access_tokens: true } : {}),
  }
}

/**
 * Returns whether the client can use the token endpoint without credentials. A document for several servers can name
 * another method as its first choice, and list `none` as supported.
 */
function isPublicClient(members: ReadonlyMap<string, unknown>): boolean {
  const method = members.get('token_endpoint_auth_method')
  if (method === undefined || method === 'none') return true
  const supported = members.get('token_endpoint_auth_methods_supported')
  return Array.isArray(supported) && supported.includes('none')
}

/**
 * Returns the redirect URIs that the server accepts. Drops all other URIs, because a document can serve other servers
 * too.
 */
function readRedirectUris(value: unknown, host: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_REDIRECT_URIS)
    throw new ClientDocumentError('redirect_uris')
  if (!value.every((uri): uri is string => isText(uri, MAX_REDIRECT_URI_LENGTH)))
    throw new ClientDocumentError('redirect_uris')
  const accepted = value.filter((uri) => isLoopbackRedirect(uri, LOOPBACK) || isRedirectOfHost(uri, host))
  if (accepted.length === 0) throw new ClientDocumentError('no_redirect_uri')
  return [...new Set(accepted)]
}

/** Returns whether a URI is a canonical https URL of the host, without credentials and fragment. */
function isRedirectOfHost(uri: string, host: string): boolean {
  const parsed = URL.parse(uri)
  return (
    parsed?.href === uri &&
    parsed.protocol === 'https:' &&
    parsed.host === host &&
    parsed.username === '' &&
    parsed.password === '' &&
    !uri.includes('#')
  )
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxLength
}

/** Returns true for an absent list, because the default list contains the value. RFC 7591 section 2. */
function includes(value: unknown, wanted: string): boolean {
  return value === undefined || (Array.isArray(value) && value.includes(wanted))
}
