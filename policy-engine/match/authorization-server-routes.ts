import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Resource } from './resources.ts'

/** A route to the bundled authorization server, before it is bound to an upstream. */
export type AuthorizationServerPath = {
  readonly name: string
  readonly methods: readonly string[]
  readonly path: string
  /** Path of the upstream request, if it differs from `path`. */
  readonly upstreamPath?: string
}

// Methods for browsers. OPTIONS is for the CORS preflights of browser applications. The authorization server responds
// to preflights, and does not allow CORS on sign-in pages.
const BROWSER = ['GET', 'POST', 'OPTIONS']
const FORM = ['POST', 'OPTIONS']
const DOCUMENT = ['GET', 'OPTIONS']

/**
 * Paths that the gateway forwards to the bundled authorization server, so that clients use one base URL.
 * The internal paths of the authorization server are excluded.
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
  // Pages, and the paths of redirects between the pages.
  { name: 'authorize-resume', methods: BROWSER, path: `${ENDPOINTS.authorization}/{request}` },
  { name: 'interaction', methods: BROWSER, path: `${ENDPOINTS.interaction}/**` },
  { name: 'account', methods: BROWSER, path: ENDPOINTS.account },
  { name: 'account-form', methods: BROWSER, path: `${ENDPOINTS.account}/**` },
  { name: 'set-password', methods: BROWSER, path: ENDPOINTS.setPassword },
  { name: 'sign-in', methods: DOCUMENT, path: `${ENDPOINTS.signIn}/**` },
  { name: 'logout', methods: BROWSER, path: `${ENDPOINTS.endSession}/**` },
]

/**
 * Returns metadata paths for clients that use the URL of a resource as the issuer URL.
 * All resources that accept tokens of the issuer share one document. Other resources get no metadata path.
 * @param issuer the bundled authorization server.
 */
export function metadataAliases(
  resources: readonly Pick<Resource, 'path' | 'issuers'>[],
  issuer: string,
): readonly AuthorizationServerPath[] {
  const upstreamPath = ENDPOINTS.authorizationServerMetadata
  return resources
    .filter(({ path, issuers }) => path !== '' && issuers.includes(issuer))
    .map(({ path }) => ({
      name: `metadata${path}`,
      methods: DOCUMENT,
      path: upstreamPath + path,
      upstreamPath,
    }))
}
