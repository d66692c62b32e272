/**
 * Every path of the public contract that belongs to OAuth, relative to the base URL.
 * The authorization server mounts them; the gateway routes them to it and keeps policies off them.
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
  /** The sign-in and consent pages live below this path, one address for each authorization request. */
  interaction: '/oauth/interaction',
  /** RFC 8414 section 3. */
  authorizationServerMetadata: '/.well-known/oauth-authorization-server',
  /** OpenID Connect Discovery 1.0 section 4. */
  openidConfiguration: '/.well-known/openid-configuration',
  /** RFC 9728 section 3; served by the gateway itself. */
  protectedResourceMetadata: '/.well-known/oauth-protected-resource',
} as const

/** Where gateways listen for revocations. Internal: the gateway never routes it to the outside. */
export const REVOCATION_STREAM_PATH = '/internal/revocations'
