import { parseScope, type ScopeCatalogue } from '../../oauth/scope.ts'

/** The stored metadata of a client. Source: RFC 7591 section 2. */
type ClientRegistration = {
  readonly client_name?: string
  readonly application_type: 'native' | 'web'
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: 'none' | 'client_secret_post'
  readonly grant_types: readonly ['authorization_code', 'refresh_token']
  readonly response_types: readonly ['code']
  readonly client_uri?: string
  /**
   * The known scopes of `scope`. If this member had the name `scope`, the engine would deny the client all other
   * scopes.
   */
  readonly registered_scope?: string
  /** True: all access tokens are bound to keys. RFC 9449 section 5.2. */
  readonly dpop_bound_access_tokens?: true
}

/** The reason to reject a registration. Source: RFC 7591 section 3.2.2. */
type RegistrationError = {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'
  readonly description: string
}

type RegistrationRules = {
  /** Hosts of the redirect URIs that any client may register. */
  readonly loopbackHosts: readonly string[]
  /** True: a redirect URI may omit its port; the client then uses any port. RFC 8252 section 7.3. */
  readonly portOptional: boolean
  readonly catalogue: ScopeCatalogue
}

const MAX_REDIRECT_URIS = 10
const MAX_REDIRECT_URI_LENGTH = 1024
const MAX_NAME_LENGTH = 200
const MAX_URI_LENGTH = 1024

/**
 * Reads a registration request.
 * Drops unknown metadata. Registers only the grant types and response types of this server (RFC 7591 section 3.2.1):
 * the response has the registered values.
 * Clients may list grant types that this server does not support, because other servers support them.
 * Removes unknown scopes from `scope`. The known scopes are stored and returned, but do not limit requests. The reason:
 * agents register with the scope of the first challenge, and need other scopes later. The person decides at each
 * authorization request.
 */
export function parseRegistration(
  body: Readonly<Record<string, unknown>>,
  rules: RegistrationRules,
): { readonly registration: ClientRegistration } | { readonly rejected: RegistrationError } {
  const redirectProblem = findRedirectProblem(body['redirect_uris'], {
    ...rules,
    isWeb: body['application_type'] === 'web',
  })
  if (redirectProblem !== undefined)
    return { rejected: { error: 'invalid_redirect_uri', description: redirectProblem } }
  const problem = findMetadataProblem(body)
  if (problem !== undefined) return { rejected: { error: 'invalid_client_metadata', description: problem } }

  const scope = knownScopes(body['scope'], rules.catalogue)
  return {
    registration: {
      ...(typeof body['client_name'] === 'string' ? { client_name: body['client_name'] } : {}),
      application_type: body['application_type'] === 'web' ? 'web' : 'native',
      redirect_uris: body['redirect_uris'] as readonly string[],
      token_endpoint_auth_method:
        body['token_endpoint_auth_method'] === 'client_secret_post' ? 'client_secret_post' : 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(body['dpop_bound_access_tokens'] === true ? { dpop_bound_access_tokens: true } : {}),
      ...(typeof body['client_uri'] === 'string' ? { client_uri: body['client_uri'] } : {}),
      ...(scope === '' ? {} : { registered_scope: scope }),
    },
  }
}

function findRedirectProblem(
  value: unknown,
  rules: RegistrationRules & { readonly isWeb: boolean },
): string | undefined {
  const { loopbackHosts } = rules
  if (value === undefined)
    return `redirect_uris is required: name at least one ${acceptedForms(loopbackHosts)}`
  if (!Array.isArray(value) || value.length === 0)
    return `redirect_uris must be a list with at least one ${acceptedForms(loopbackHosts)}`
  if (value.length > MAX_REDIRECT_URIS) return `redirect_uris must have at most ${MAX_REDIRECT_URIS} entries`
  const index = value.findIndex(
    (uri: unknown) =>
      typeof uri !== 'string' || uri.length > MAX_REDIRECT_URI_LENGTH || !isLoopbackRedirect(uri, rules),
  )
  if (index === -1) return rules.isWeb ? findPortlessRedirect(value, rules) : undefined
  return `redirect_uris[${index}] ${shown(value[index])}: this server accepts only loopback redirect URIs of at most ${MAX_REDIRECT_URI_LENGTH} characters: ${acceptedForms(loopbackHosts)}. Use ${loopbackHosts[0] ?? '127.0.0.1'}, or ask the operator for a registered integration.`
}

/**
 * Returns the problem of the first redirect URI without a port. The redirect URI of a web client must match exactly, so
 * the URI must include the port.
 */
function findPortlessRedirect(uris: readonly string[], rules: RegistrationRules): string | undefined {
  const index = uris.findIndex((uri) => !isLoopbackRedirect(uri, { ...rules, portOptional: false }))
  if (index === -1) return undefined
  return `redirect_uris[${index}] ${shown(uris[index])}: a redirect URI of a web client must have a port, because the URI must match exactly. Add the port, or register with application_type native, which accepts any port.`
}

function findMetadataProblem(body: Readonly<Record<string, unknown>>): string | undefined {
  const name = body['client_name']
  if (name !== undefined && (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH))
    return `client_name must be a string of 1 to ${MAX_NAME_LENGTH} characters`
  const type = body['application_type']
  if (type !== undefined && type !== 'native' && type !== 'web')
    return 'application_type must be native or web'
  const method = body['token_endpoint_auth_method']
  if (method !== undefined && method !== 'none' && method !== 'client_secret_post')
    return 'token_endpoint_auth_method must be none (public client) or client_secret_post (confidential client)'
  if (!listIncludes(body['grant_types'], 'authorization_code'))
    return 'grant_types must be a list that contains authorization_code, the only flow of this server'
  if (!listIncludes(body['response_types'], 'code'))
    return 'response_types must be a list that contains code, the only response type of this server'
  const scope = body['scope']
  if (scope !== undefined && (typeof scope !== 'string' || parseScope(scope) === undefined))
    return 'scope must be a string of scopes, each separated by one space'
  const uri = body['client_uri']
  if (uri !== undefined && !isWebAddress(uri)) return 'client_uri must be an http or https URL'
  return undefined
}

/** Returns the known scopes and `offline_access`, separated by spaces. RFC 7591 section 2. */
function knownScopes(scope: unknown, catalogue: ScopeCatalogue): string {
  const scopes = typeof scope === 'string' ? (parseScope(scope) ?? []) : []
  return scopes.filter((name) => name === 'offline_access' || catalogue.has(name)).join(' ')
}

/** Returns whether a list contains a value. True for an absent list, because the default list contains the value. */
function listIncludes(value: unknown, wanted: string): boolean {
  return value === undefined || (Array.isArray(value) && value.includes(wanted))
}

function isWebAddress(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_URI_LENGTH) return false
  const protocol = URL.parse(value)?.protocol
  return protocol === 'https:' || protocol === 'http:'
}

function acceptedForms(loopbackHosts: readonly string[]): string {
  return loopbackHosts.map((host) => `http://${host}:<port>/<path>`).join(' or ')
}

/**
 * Formats an invalid value for a message: short, printable and on one line. Does not show a value that is not a string,
 * because such a value may be deeply nested.
 */
function shown(value: unknown): string {
  if (typeof value !== 'string') return 'is not a string'
  const short = value.length > MAX_NAME_LENGTH ? `${value.slice(0, MAX_NAME_LENGTH)}...` : value
  return `"${short.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, "'")}"`
}

const HIGHEST_PORT = 65_535

/**
 * Returns whether a redirect URI is `http://<host>:<port>/<path>` with one of the accepted loopback hosts.
 * The spelling must be exact and canonical: no user name, fragment, dot segments or unencoded characters. With
 * `portOptional`, the port may be absent.
 * Source: docs/interface.md section 5.4, RFC 8252 section 7.3.
 */
export function isLoopbackRedirect(
  uri: string,
  {
    loopbackHosts,
    portOptional,
  }: { readonly loopbackHosts: readonly string[]; readonly portOptional: boolean },
): boolean {
  const match = /^http:\/\/(\[[0-9a-f:]+\]|[a-z0-9.]+)(?::([1-9][0-9]{0,4}))?(\/[^\s#]*)$/.exec(uri)
  const [, host, port, rest] = match ?? []
  if (host === undefined || rest === undefined) return false
  if (port === undefined && !portOptional) return false
  if (Number(port ?? 80) > HIGHEST_PORT || !loopbackHosts.includes(host)) return false
  const parsed = URL.parse(uri)
  return parsed !== null && parsed.pathname + parsed.search === rest
}
