/**
 * OAuth paths for clients, relative to the base URL. docs/interface.md section 4.1.
 * The gateway itself serves the protected resource metadata. It forwards requests for all other paths to the
 * authorization server. Policies cannot use these paths.
 */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  endSession: '/oauth/logout',
  token: '/api/oauth/token',
  registration: '/api/oauth/register',
  userinfo: '/api/oauth/userinfo',
  revocation: '/api/oauth/revoke',
  introspection: '/api/oauth/introspect',
  jwks: '/api/oauth/jwks',
  pushedAuthorizationRequest: '/api/oauth/par',
  /** Path prefix of the sign-in and consent pages. Each authorization request has a separate path below this prefix. */
  interaction: '/oauth/interaction',
  /** The account page, on which a person sees the apps with access and removes their access. */
  account: '/oauth/account',
  /** Page on which a person sets a password with a one-time link. The token of the link is in the query. */
  setPassword: '/oauth/set-password',
  /** Path prefix of the redirect URIs at OpenID providers: `<prefix>/<name of the provider>/callback`. */
  signIn: '/oauth/sign-in',
  /** RFC 8414 section 3. */
  authorizationServerMetadata: '/.well-known/oauth-authorization-server',
  /** OpenID Connect Discovery 1.0 section 4. */
  openidConfiguration: '/.well-known/openid-configuration',
  /** RFC 9728 section 3. */
  protectedResourceMetadata: '/.well-known/oauth-protected-resource',
} as const

/**
 * Path of the revocation stream for gateways. This path is internal: the gateway never exposes this path to clients.
 */
export const REVOCATION_STREAM_PATH = '/internal/revocations'
