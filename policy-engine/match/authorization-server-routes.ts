import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Resource } from './resource.ts'

/** A route to the bundled authorization server, before it is bound to an upstream. */
export type AuthorizationServerPath = {
  readonly name: string
  readonly methods: readonly string[]
  readonly path: string
  /** What the authorization server is asked for instead of `path`. */
  readonly asks?: string
}

// A browser application asks first (CORS). The authorization server answers that: not where a person signs in.
const BROWSER = ['GET', 'POST', 'OPTIONS']
const FORM = ['POST', 'OPTIONS']
const DOCUMENT = ['GET', 'OPTIONS']

/**
 * What the gateway hands to the bundled authorization server, so that clients see one address.
 * Its internal paths are not among them.
 */
export const AUTHORIZATION_SERVER_PATHS: readonly AuthorizationServerPath[] = [
  { name: 'token', methods: FORM, path: ENDPOINTS.token },
  { name: 'register', methods: FORM, path: ENDPOINTS.registration },
  { name: 'userinfo', methods: ['GET', 'POST', 'OPTIONS'], path: ENDPOINTS.userinfo },
  { name: 'revoke', methods: FORM, path: ENDPOINTS.revocation },
  { name: 'introspect', methods: FORM, path: ENDPOINTS.introspection },
  { name: 'jwks', methods: DOCUMENT, path: ENDPOINTS.jwks },
  { name: 'par', methods: FORM, path: ENDPOINTS.pushedAuthorizationRequest },
  { name: 'metadata', methods: DOCUMENT, path: ENDPOINTS.authorizationServerMetadata },
  { name: 'openid-configuration', methods: DOCUMENT, path: ENDPOINTS.openidConfiguration },
  { name: 'authorize', methods: BROWSER, path: ENDPOINTS.authorization },
  // Its pages, and the addresses a browser is sent through between them.
  { name: 'authorize-resume', methods: BROWSER, path: `${ENDPOINTS.authorization}/{request}` },
  { name: 'interaction', methods: BROWSER, path: `${ENDPOINTS.interaction}/**` },
  { name: 'logout', methods: BROWSER, path: `${ENDPOINTS.endSession}/**` },
]

/**
 * Where clients look for the authorization server's metadata that take the address of a resource for that of its issuer: the
 * same document below the path of each resource that takes its tokens, and nowhere else.
 * @param issuer the bundled authorization server.
 */
export function metadataAliases(
  resources: readonly Pick<Resource, 'path' | 'issuers'>[],
  issuer: string,
): readonly AuthorizationServerPath[] {
  const asks = ENDPOINTS.authorizationServerMetadata
  return resources
    .filter(({ path, issuers }) => path !== '' && issuers.includes(issuer))
    .map(({ path }) => ({ name: `metadata${path}`, methods: DOCUMENT, path: asks + path, asks }))
}
