import { ENDPOINTS } from '../../oauth/endpoints.ts'

/** One endpoint that the engine answers. */
export type Endpoint = {
  /** The metrics' name for it. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** True where GET and POST get the same response. */
  readonly alsoPost?: true
  readonly path: string
  /** How its body is read before the engine sees it. */
  readonly body: 'none' | 'form' | 'json'
  /** True where pages of other origins may call: never where a person signs in. */
  readonly cors: boolean
}

/** Every path the engine answers, one row each; nothing else reaches it. */
export const ENGINE_ENDPOINTS: readonly Endpoint[] = [
  { name: 'authorization', method: 'GET', path: ENDPOINTS.authorization, body: 'none', cors: false },
  { name: 'resume', method: 'GET', path: `${ENDPOINTS.authorization}/:uid`, body: 'none', cors: false },
  { name: 'token', method: 'POST', path: ENDPOINTS.token, body: 'form', cors: true },
  { name: 'registration', method: 'POST', path: ENDPOINTS.registration, body: 'json', cors: true },
  { name: 'revocation', method: 'POST', path: ENDPOINTS.revocation, body: 'form', cors: true },
  { name: 'introspection', method: 'POST', path: ENDPOINTS.introspection, body: 'form', cors: true },
  {
    name: 'pushed_authorization_request',
    method: 'POST',
    path: ENDPOINTS.pushedAuthorizationRequest,
    body: 'form',
    cors: true,
  },
  { name: 'jwks', method: 'GET', path: ENDPOINTS.jwks, body: 'none', cors: true },
  {
    name: 'discovery',
    method: 'GET',
    path: ENDPOINTS.authorizationServerMetadata,
    body: 'none',
    cors: true,
  },
  { name: 'discovery', method: 'GET', path: ENDPOINTS.openidConfiguration, body: 'none', cors: true },
]

/** Answered by us, with the same CORS and the same rules for methods. */
export const USERINFO_ENDPOINT: Endpoint = {
  name: 'userinfo',
  method: 'GET',
  alsoPost: true, // OpenID Connect Core 1.0 section 5.3.1
  path: ENDPOINTS.userinfo,
  body: 'none',
  cors: true,
}
