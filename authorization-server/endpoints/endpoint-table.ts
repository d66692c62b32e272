import { ENDPOINTS } from '../../oauth/endpoints.ts'

/** An endpoint that the engine handles, or {@link USERINFO_ENDPOINT}. */
export type Endpoint = {
  /** Name of the endpoint in the metrics. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** True: GET and POST get the same response. */
  readonly alsoPost?: true
  readonly path: string
  /** Format of the body, which the server reads before it calls the engine. */
  readonly body: 'none' | 'form' | 'json'
  /** True: pages of other origins may call the endpoint. Always false for endpoints where a person signs in. */
  readonly cors: boolean
}

/** All endpoints that the engine handles. Other requests never reach the engine. */
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

/** The userinfo endpoint. The engine does not handle this endpoint, but the same rules for CORS and methods apply. */
export const USERINFO_ENDPOINT: Endpoint = {
  name: 'userinfo',
  method: 'GET',
  alsoPost: true, // OpenID Connect Core 1.0 section 5.3.1
  path: ENDPOINTS.userinfo,
  body: 'none',
  cors: true,
}
