import type { GatewayErrorCode } from '../../oauth/error-body.ts'

/** The explanation of an error code for developers of clients and for operators. */
export type ErrorExplanation = {
  /** All statuses with this code, in ascending order. `redirect`: the app gets the code in its redirect URI. */
  readonly statuses: readonly (number | 'redirect')[]
  readonly title: string
  /** Sentences without markup. */
  readonly causes: readonly string[]
  readonly client: readonly string[]
  readonly operator: readonly string[]
}

/** Explains every error code of the gateway. docs/rejections.md lists the same codes and statuses. */
export const GATEWAY_ERRORS: Readonly<Record<GatewayErrorCode, ErrorExplanation>> = {
  invalid_request: {
    statuses: [400, 408, 414, 431],
    title: 'The request is not valid',
    causes: [
      'The request line, a header or the body is malformed, ambiguous, too long, or did not arrive in time.',
      'The request has more than one credential, or a token in the query.',
      'A request to an MCP path has no headers of MCP, or they differ from the body.',
    ],
    client: [
      'Read error_description, which names the fault, and correct the request.',
      'Send one credential, in the header Authorization.',
      'Do not repeat the same request: the result will be the same, except for status 408.',
    ],
    operator: [
      'Find the line of the request in the access log by its request_id.',
      'If valid requests are too large, compare them with limits.headers and limits.target.',
    ],
  },
  unauthorized: {
    statuses: [401],
    title: 'The request has no access token',
    causes: ['The operation requires an access token, and the request has no header Authorization.'],
    client: [
      'Get a token with the scopes in WWW-Authenticate, as /auth.md describes.',
      'Send the token as Authorization: Bearer <access token>.',
    ],
    operator: [
      'Check that the proxies before the gateway forward the header Authorization.',
      'The key anonymous of the policy sets whether an operation requires a token.',
    ],
  },
  invalid_token: {
    statuses: [401],
    title: 'The access token is not valid',
    causes: [
      'The token is expired, revoked or malformed, or its issuer does not know it.',
      'The token is for another API: its audience is not the resource of this path.',
      'The token is not an access token, for example an ID token.',
    ],
    client: [
      'Check that the request has the header Authorization: Bearer <access token> with the complete access token.',
      'Use the refresh token once to get a new access token.',
      'If this fails, start a new authorization, and send resource with the base URL of this API.',
    ],
    operator: [
      'The access log contains the exact reason in auth.token_fault.',
      'For all tokens of an issuer: compare issuers and jwt in the configuration with the claims of a token.',
    ],
  },
  insufficient_scope: {
    statuses: [403],
    title: 'The access token lacks a scope',
    causes: ['The token is valid, but the operation requires a scope that the token does not have.'],
    client: [
      'Start a new authorization with your previous scopes and the required scopes. The member scope of the body lists the required scopes.',
      'Do not refresh the token: a refresh adds no scopes.',
    ],
    operator: [
      'The access log lists the scopes in auth.scopes_required and auth.scopes_missing.',
      'scopegate explain shows the decision on a request with a given token.',
    ],
  },
  insufficient_user_authentication: {
    statuses: [401],
    title: 'The person must sign in again',
    causes: ['The operation requires a more recent sign-in, or another class of sign-in.'],
    client: ['Start a new authorization with acr_values, max_age and scope of the body.'],
    operator: [
      'The key authentication of the policy sets this requirement.',
      'The issuer must put acr and auth_time into its tokens.',
    ],
  },
  invalid_dpop_proof: {
    statuses: [401],
    title: 'The DPoP proof is not valid',
    causes: ['The proof is missing, too old, already used, or belongs to another request, token or key.'],
    client: [
      'Create a new proof for each request, with its method and URL, the current time and the hash of the token.',
      'Check the clock of the client.',
    ],
    operator: ['Check the clocks of the gateways. baseUrl must be the URL that clients use.'],
  },
  use_dpop_nonce: {
    statuses: [401],
    title: 'The DPoP proof needs a nonce',
    causes: ['The gateway requires its nonce in each proof. The nonce is missing or no longer valid.'],
    client: [
      'Create a new proof with the nonce in the header DPoP-Nonce of this response, and repeat the request.',
    ],
    operator: [
      'The setting dpop.nonce requires the nonce. All replicas need the same secrets in dpop.nonceSecretFile.',
    ],
  },
  access_denied: {
    statuses: [403],
    title: 'The service denies the request',
    causes: ['The token is valid and has the scopes, but a rule of the service denies this request.'],
    client: ['Do not repeat the request. Another scope does not help. Contact the operator of the API.'],
    operator: ['A condition (when) of the policy failed. The access log names the condition.'],
  },
  not_found: {
    statuses: [404],
    title: 'The path does not exist',
    causes: ['The API has no operation at this path. Case and a trailing slash are significant.'],
    client: ['Compare the path with /openapi.json or with the API reference.'],
    operator: [
      'scopegate explain shows the nearest route. scopegate routes lists all routes.',
      'With a prefix in the policy, the public path begins with this prefix.',
    ],
  },
  method_not_allowed: {
    statuses: [405],
    title: 'The path does not allow this method',
    causes: ['The API has this path, but not for the method of the request.'],
    client: ['Use a method of the header Allow.'],
    operator: ['Add the method to the route of the policy if clients may use it.'],
  },
  payload_too_large: {
    statuses: [413],
    title: 'The body is too large',
    causes: ['The body is larger than the limit of this operation. error_description names the limit.'],
    client: ['Send a smaller body, or split the content.'],
    operator: ['limits.body is the default. The key bodyLimit of a route changes the limit for this route.'],
  },
  rate_limited: {
    statuses: [429],
    title: 'Too many requests',
    causes: ['The caller sent more requests, or opened more WebSockets, than the limit allows.'],
    client: [
      'Wait for the seconds in Retry-After, then repeat the request.',
      'Read RateLimit to slow down before the limit.',
    ],
    operator: ['The keys rateLimit and sharedLimits of the policies set the limits.'],
  },
  server_error: {
    statuses: [500, 503],
    title: 'The gateway cannot process the request',
    causes: [
      'Status 500: a defect of the gateway. The defect affects only this request.',
      'Status 503: the gateway is overloaded.',
    ],
    client: [
      'Status 503: wait for the seconds in Retry-After, then repeat the request.',
      'Status 500: report the request_id to the operator. Repeat only idempotent requests.',
    ],
    operator: [
      'Status 500: the log contains the error with the request_id.',
      'Status 503: the metrics and the log show the limit that the process reached.',
    ],
  },
  upstream_unavailable: {
    statuses: [502, 503],
    title: 'A service behind the gateway is not available',
    causes: [
      'The service behind the gateway cannot be reached, or its response was not complete.',
      'The issuer of the token cannot be reached, so the gateway cannot validate the token.',
      'The service rejects the credentials of the gateway. The token of the client stays valid.',
    ],
    client: ['Wait for the seconds in Retry-After, or 1, 2 and 4 seconds. Repeat only idempotent requests.'],
    operator: [
      'Check that the service runs at its url in upstreams.yaml.',
      'The access log contains the exact cause in error.code.',
      'If error.type in the access log is upstream_credentials_rejected, correct the credentials of the upstream.',
    ],
  },
  upstream_busy: {
    statuses: [503],
    title: 'The service behind the gateway is busy',
    causes: ['All connections to the service are in use, and the queue of the gateway is full.'],
    client: ['Wait for the seconds in Retry-After, then repeat the request.'],
    operator: ['Add capacity to the service, or change the connections of the upstream in upstreams.yaml.'],
  },
  upstream_credentials_unavailable: {
    statuses: [503],
    title: 'The gateway cannot authenticate at the service',
    causes: ['The service requires a token of the gateway, and the gateway gets no token.'],
    client: ['Wait for the seconds in Retry-After, then repeat the request.'],
    operator: ['The log names the cause at the token endpoint. Check the credentials of the upstream.'],
  },
  upstream_timeout: {
    statuses: [504],
    title: 'The service behind the gateway is too slow',
    causes: ['The service did not respond in time. It may have processed the request.'],
    client: ['Repeat only idempotent requests, after 1, 2 and 4 seconds.'],
    operator: ['Check the service. The key timeout of the route or of the upstream sets the time.'],
  },
  policy_unavailable: {
    statuses: [503],
    title: 'The access rules of the path are not available',
    causes: ['The team of this path has no valid policies at the moment, so the gateway forwards nothing.'],
    client: ['Wait for the seconds in Retry-After, then repeat the request.'],
    operator: ['scopegate check names the faults of the policies. The log names the policy source.'],
  },
}
