import t from 'tap'
import { formatRejection } from '../../../gateway/pipeline/error-response.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'

type Row = readonly [rejection: Rejection, status: number, headers: readonly string[], body: object]

/** The complete response to each rejection. The list does not use the code, so that it detects changes of the code. */
const ROWS: readonly Row[] = [
  [
    { rejected: 'request_malformed', detail: 'The detail.' },
    400,
    [],
    { error: 'invalid_request', error_description: 'The detail.', request_id: 'ID' },
  ],
  [
    { rejected: 'target_too_long', limitBytes: 11 },
    414,
    [],
    {
      error: 'invalid_request',
      error_description: 'The request target is longer than 11 bytes.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'headers_too_large', limitBytes: 12 },
    431,
    [],
    {
      error: 'invalid_request',
      error_description: 'The headers are larger than 12 bytes.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'body_too_large', limitBytes: 13 },
    413,
    [],
    { error: 'payload_too_large', error_description: 'The body is larger than 13 bytes.', request_id: 'ID' },
  ],
  [
    { rejected: 'request_timed_out' },
    408,
    [],
    { error: 'invalid_request', error_description: 'The request did not arrive in time.', request_id: 'ID' },
  ],
  [
    { rejected: 'body_timed_out' },
    408,
    [],
    { error: 'invalid_request', error_description: 'The body did not arrive in time.', request_id: 'ID' },
  ],
  [
    { rejected: 'route_unknown' },
    404,
    [],
    { error: 'not_found', error_description: 'No route matches this path.', request_id: 'ID' },
  ],
  [
    { rejected: 'mcp_headers_missing' },
    400,
    [],
    {
      error: 'invalid_request',
      error_description:
        'This path requires MCP revision 2026-07-28 or later: send MCP-Protocol-Version, Mcp-Method, Mcp-Name and the Mcp-Param headers of the tool.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'method_not_allowed', allow: ['GET', 'HEAD'] },
    405,
    ['allow', 'GET, HEAD'],
    { error: 'method_not_allowed', error_description: 'This path allows only GET, HEAD.', request_id: 'ID' },
  ],
  [
    { rejected: 'credentials_ambiguous', detail: 'The detail.' },
    400,
    [
      'www-authenticate',
      'Bearer error="invalid_request", error_description="The detail.", resource_metadata="https://m"',
    ],
    { error: 'invalid_request', error_description: 'The detail.', request_id: 'ID' },
  ],
  [
    { rejected: 'token_missing', anonymous: 'challenge', needed: ['a', 'b'] },
    401,
    ['www-authenticate', 'Bearer scope="a b", resource_metadata="https://m"'],
    {
      error: 'unauthorized',
      error_description: 'This path requires an access token: Authorization: Bearer <access token>.',
      request_id: 'ID',
      scope: 'a b',
    },
  ],
  [
    { rejected: 'token_missing', anonymous: 'challenge', needed: [] },
    401,
    ['www-authenticate', 'Bearer resource_metadata="https://m"'],
    {
      error: 'unauthorized',
      error_description: 'This path requires an access token: Authorization: Bearer <access token>.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'token_missing', anonymous: 'deny', needed: ['a', 'b'] },
    401,
    ['www-authenticate', 'Bearer'],
    {
      error: 'unauthorized',
      error_description: 'This path requires an access token: Authorization: Bearer <access token>.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'token_invalid', fault: { reason: 'inactive' } },
    401,
    [
      'www-authenticate',
      'Bearer error="invalid_token", error_description="The access token is unknown, expired or revoked. Get a new token from its issuer.", resource_metadata="https://m"',
    ],
    {
      error: 'invalid_token',
      error_description: 'The access token is unknown, expired or revoked. Get a new token from its issuer.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'token_invalid', fault: { reason: 'proof_missing' } },
    401,
    [
      'www-authenticate',
      'Bearer error="invalid_token", error_description="The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in the DPoP header.", resource_metadata="https://m", DPoP algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"',
    ],
    {
      error: 'invalid_token',
      error_description:
        'The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in the DPoP header.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'proof_invalid', fault: 'bad_id' },
    401,
    [
      'www-authenticate',
      'DPoP error="invalid_dpop_proof", error_description="The DPoP proof must have a jti of 1 to 256 characters.", resource_metadata="https://m", algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"',
    ],
    {
      error: 'invalid_dpop_proof',
      error_description: 'The DPoP proof must have a jti of 1 to 256 characters.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'proof_nonce', nonce: 'the-nonce' },
    401,
    [
      'www-authenticate',
      'DPoP error="use_dpop_nonce", error_description="The DPoP proof must contain the nonce from the DPoP-Nonce header of this response.", resource_metadata="https://m", algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"',
      'dpop-nonce',
      'the-nonce',
    ],
    {
      error: 'use_dpop_nonce',
      error_description: 'The DPoP proof must contain the nonce from the DPoP-Nonce header of this response.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'scope_missing', needed: ['a', 'b', 'c'], missing: ['a', 'b'] },
    403,
    [
      'www-authenticate',
      'Bearer error="insufficient_scope", error_description="The access token lacks a b. Request a token with: a b c.", scope="a b c", resource_metadata="https://m"',
    ],
    {
      error: 'insufficient_scope',
      error_description: 'The access token lacks a b. Request a token with: a b c.',
      request_id: 'ID',
      scope: 'a b c',
    },
  ],
  [
    {
      rejected: 'condition_failed',
      condition: 'team equals a',
      source: { file: 'p.yaml', line: 1, column: 1 },
    },
    403,
    [],
    {
      error: 'access_denied',
      error_description: 'The token is valid but does not grant access.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'token_unverifiable', retryAfterSeconds: 2 },
    503,
    ['retry-after', '2'],
    {
      error: 'upstream_unavailable',
      error_description: 'The access token cannot be validated now. Try again in a moment.',
      request_id: 'ID',
      retry_after: 2,
    },
  ],
  [
    { rejected: 'upstream_ejected', retryAfterSeconds: 3 },
    503,
    ['retry-after', '3'],
    {
      error: 'upstream_unavailable',
      error_description: 'The upstream service is unavailable. Try again in a moment.',
      request_id: 'ID',
      retry_after: 3,
    },
  ],
  [
    { rejected: 'upstream_busy', retryAfterSeconds: 1 },
    503,
    ['retry-after', '1'],
    {
      error: 'upstream_busy',
      error_description: 'The upstream service is busy. Try again in a moment.',
      request_id: 'ID',
      retry_after: 1,
    },
  ],
  [
    { rejected: 'upstream_credentials_unavailable', retryAfterSeconds: 5 },
    503,
    ['retry-after', '5'],
    {
      error: 'upstream_credentials_unavailable',
      error_description: 'The gateway cannot authenticate at the upstream service. Try again in a moment.',
      request_id: 'ID',
      retry_after: 5,
    },
  ],
  [
    { rejected: 'overloaded', retryAfterSeconds: 4 },
    503,
    ['retry-after', '4'],
    {
      error: 'server_error',
      error_description: 'The gateway is overloaded. Try again in a moment.',
      request_id: 'ID',
      retry_after: 4,
    },
  ],
  [
    { rejected: 'rate_limited', retryAfterSeconds: 1, limit: 'default' },
    429,
    ['retry-after', '1'],
    {
      error: 'rate_limited',
      error_description: 'Too many requests. Try again in 1 second.',
      request_id: 'ID',
      retry_after: 1,
    },
  ],
  [
    { rejected: 'rate_limited', retryAfterSeconds: 2, limit: 'default' },
    429,
    ['retry-after', '2'],
    {
      error: 'rate_limited',
      error_description: 'Too many requests. Try again in 2 seconds.',
      request_id: 'ID',
      retry_after: 2,
    },
  ],
  [
    { rejected: 'sessions_exhausted', limit: 5, retryAfterSeconds: 6 },
    429,
    ['retry-after', '6'],
    {
      error: 'rate_limited',
      error_description: 'This caller has reached the limit of 5 open WebSocket sessions.',
      request_id: 'ID',
      retry_after: 6,
    },
  ],
  [
    { rejected: 'upstream_unreachable' },
    502,
    [],
    {
      error: 'upstream_unavailable',
      error_description: 'The upstream service cannot be reached.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'upstream_broken' },
    502,
    [],
    {
      error: 'upstream_unavailable',
      error_description: 'The upstream service did not send a complete response.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'upstream_timed_out' },
    504,
    [],
    {
      error: 'upstream_timeout',
      error_description: 'The upstream service did not respond in time.',
      request_id: 'ID',
    },
  ],
  [
    { rejected: 'internal_error' },
    500,
    [],
    {
      error: 'server_error',
      error_description: 'Internal error. Quote the request ID in reports.',
      request_id: 'ID',
    },
  ],
]

t.test('formatRejection() returns status, headers and body of each rejection', async (t) => {
  for (const [rejection, status, headers, body] of ROWS) {
    const reply = formatRejection(rejection, {
      requestId: 'ID',
      resourceMetadata: 'https://m',
      tokenEndpoint: undefined,
    })
    t.strictSame({ ...reply, body: JSON.parse(reply.body) }, { status, headers, body }, rejection.rejected)
  }
})

t.test('formatRejection() repeats the scheme of the token, and names the token endpoint', async (t) => {
  const DPOP_ALGORITHMS = 'ES256 ES384 PS256 RS256 EdDSA Ed25519'
  const challengeTo = (rejection: Rejection): string | undefined =>
    formatRejection(rejection, {
      requestId: 'ID',
      resourceMetadata: 'https://m',
      tokenEndpoint: 'https://t',
      credential: 'dpop',
    }).headers[1]
  t.equal(
    challengeTo({ rejected: 'token_invalid', fault: { reason: 'inactive' } }),
    `DPoP error="invalid_token", error_description="The access token is unknown, expired or revoked. Get a new token at https://t.", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
  t.equal(
    challengeTo({ rejected: 'token_invalid', fault: { reason: 'malformed' } }),
    `DPoP error="invalid_token", error_description="The access token is malformed. Send it as: Authorization: DPoP <access token>.", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
  t.equal(
    challengeTo({ rejected: 'scope_missing', needed: ['a'], missing: ['a'] }),
    `DPoP error="insufficient_scope", error_description="The access token lacks a. Request a token with: a.", scope="a", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
  t.equal(
    challengeTo({ rejected: 'credentials_ambiguous', detail: 'The detail.' }),
    `DPoP error="invalid_request", error_description="The detail.", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
})
