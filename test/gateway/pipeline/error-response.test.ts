import t from 'tap'
import { formatRefusal } from '../../../gateway/pipeline/error-response.ts'
import type { ProofFault } from '../../../policy-engine/decide/proof-fault.ts'
import type { Refusal, TokenFault } from '../../../policy-engine/decide/refusal.ts'

type Row = readonly [refusal: Refusal, status: number, headers: readonly string[], body: object]

/** The complete response to each refusal. A literal copy, independent of the code. */
const ROWS: readonly Row[] = [
  [
    { refused: 'request_malformed', detail: 'The detail.' },
    400,
    [],
    { error: 'invalid_request', error_description: 'The detail.', request_id: 'ID' },
  ],
  [
    { refused: 'target_too_long', limitBytes: 11 },
    414,
    [],
    { error: 'invalid_request', error_description: 'The address is longer than 11 bytes.', request_id: 'ID' },
  ],
  [
    { refused: 'headers_too_large', limitBytes: 12 },
    431,
    [],
    {
      error: 'invalid_request',
      error_description: 'The headers are larger than 12 bytes.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'body_too_large', limitBytes: 13 },
    413,
    [],
    { error: 'payload_too_large', error_description: 'The body is larger than 13 bytes.', request_id: 'ID' },
  ],
  [
    { refused: 'request_timed_out' },
    408,
    [],
    { error: 'invalid_request', error_description: 'The request did not arrive in time.', request_id: 'ID' },
  ],
  [
    { refused: 'body_timed_out' },
    408,
    [],
    { error: 'invalid_request', error_description: 'The body did not arrive in time.', request_id: 'ID' },
  ],
  [
    { refused: 'route_unknown' },
    404,
    [],
    { error: 'not_found', error_description: 'There is nothing at this address.', request_id: 'ID' },
  ],
  [
    { refused: 'method_not_allowed', allow: ['GET', 'HEAD'] },
    405,
    ['allow', 'GET, HEAD'],
    { error: 'method_not_allowed', error_description: 'This address takes GET, HEAD.', request_id: 'ID' },
  ],
  [
    { refused: 'credentials_ambiguous', detail: 'The detail.' },
    400,
    [
      'www-authenticate',
      'Bearer error="invalid_request", error_description="The detail.", resource_metadata="https://m"',
    ],
    { error: 'invalid_request', error_description: 'The detail.', request_id: 'ID' },
  ],
  [
    { refused: 'token_missing', anonymous: 'challenge', needed: ['a', 'b'] },
    401,
    ['www-authenticate', 'Bearer scope="a b", resource_metadata="https://m"'],
    {
      error: 'unauthorized',
      error_description: 'This address needs an access token: Authorization: Bearer <access token>.',
      request_id: 'ID',
      scope: 'a b',
    },
  ],
  [
    { refused: 'token_missing', anonymous: 'challenge', needed: [] },
    401,
    ['www-authenticate', 'Bearer resource_metadata="https://m"'],
    {
      error: 'unauthorized',
      error_description: 'This address needs an access token: Authorization: Bearer <access token>.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'token_missing', anonymous: 'deny', needed: ['a', 'b'] },
    401,
    ['www-authenticate', 'Bearer'],
    {
      error: 'unauthorized',
      error_description: 'This address needs an access token: Authorization: Bearer <access token>.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'token_invalid', fault: { reason: 'inactive' } },
    401,
    [
      'www-authenticate',
      'Bearer error="invalid_token", error_description="The access token is unknown, expired or revoked. Get a new one from its issuer.", resource_metadata="https://m"',
    ],
    {
      error: 'invalid_token',
      error_description: 'The access token is unknown, expired or revoked. Get a new one from its issuer.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'token_invalid', fault: { reason: 'proof_missing' } },
    401,
    [
      'www-authenticate',
      'Bearer error="invalid_token", error_description="The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in DPoP.", resource_metadata="https://m", DPoP algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"',
    ],
    {
      error: 'invalid_token',
      error_description:
        'The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in DPoP.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'proof_invalid', fault: 'bad_id' },
    401,
    [
      'www-authenticate',
      'DPoP error="invalid_dpop_proof", error_description="The DPoP proof needs a jti of 1 to 256 characters.", resource_metadata="https://m", algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"',
    ],
    {
      error: 'invalid_dpop_proof',
      error_description: 'The DPoP proof needs a jti of 1 to 256 characters.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'proof_nonce', nonce: 'the-nonce' },
    401,
    [
      'www-authenticate',
      'DPoP error="use_dpop_nonce", error_description="The DPoP proof needs the nonce in the header DPoP-Nonce of this answer.", resource_metadata="https://m", algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"',
      'dpop-nonce',
      'the-nonce',
    ],
    {
      error: 'use_dpop_nonce',
      error_description: 'The DPoP proof needs the nonce in the header DPoP-Nonce of this answer.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'scope_missing', needed: ['a', 'b', 'c'], missing: ['a', 'b'] },
    403,
    [
      'www-authenticate',
      'Bearer error="insufficient_scope", error_description="The access token lacks a b. Ask for a token with: a b c.", scope="a b c", resource_metadata="https://m"',
    ],
    {
      error: 'insufficient_scope',
      error_description: 'The access token lacks a b. Ask for a token with: a b c.',
      request_id: 'ID',
      scope: 'a b c',
    },
  ],
  [
    { refused: 'condition_failed', condition: 'team equals a' },
    403,
    [],
    {
      error: 'access_denied',
      error_description: 'The access token is good, and does not give access to this.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'token_unverifiable', retryAfterSeconds: 2 },
    503,
    ['retry-after', '2'],
    {
      error: 'upstream_unavailable',
      error_description: 'The access token cannot be checked right now. Try again in a moment.',
      request_id: 'ID',
      retry_after: 2,
    },
  ],
  [
    { refused: 'upstream_ejected', retryAfterSeconds: 3 },
    503,
    ['retry-after', '3'],
    {
      error: 'upstream_unavailable',
      error_description: 'The service behind this address is away. Try again in a moment.',
      request_id: 'ID',
      retry_after: 3,
    },
  ],
  [
    { refused: 'overloaded', retryAfterSeconds: 4 },
    503,
    ['retry-after', '4'],
    {
      error: 'server_error',
      error_description: 'The gateway has too much to do. Try again in a moment.',
      request_id: 'ID',
      retry_after: 4,
    },
  ],
  [
    { refused: 'rate_limited', retryAfterSeconds: 1 },
    429,
    ['retry-after', '1'],
    {
      error: 'rate_limited',
      error_description: 'There were too many requests. Try again in 1 second.',
      request_id: 'ID',
      retry_after: 1,
    },
  ],
  [
    { refused: 'rate_limited', retryAfterSeconds: 2 },
    429,
    ['retry-after', '2'],
    {
      error: 'rate_limited',
      error_description: 'There were too many requests. Try again in 2 seconds.',
      request_id: 'ID',
      retry_after: 2,
    },
  ],
  [
    { refused: 'sessions_exhausted', limit: 5, retryAfterSeconds: 6 },
    429,
    ['retry-after', '6'],
    {
      error: 'rate_limited',
      error_description: 'There are 5 open WebSocket sessions of this caller already.',
      request_id: 'ID',
      retry_after: 6,
    },
  ],
  [
    { refused: 'upstream_unreachable' },
    502,
    [],
    {
      error: 'upstream_unavailable',
      error_description: 'The service behind this address cannot be reached.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'upstream_broken' },
    502,
    [],
    {
      error: 'upstream_unavailable',
      error_description: 'The service behind this address did not give a complete answer.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'upstream_timed_out' },
    504,
    [],
    {
      error: 'upstream_timeout',
      error_description: 'The service behind this address did not answer in time.',
      request_id: 'ID',
    },
  ],
  [
    { refused: 'internal_error' },
    500,
    [],
    {
      error: 'server_error',
      error_description: 'Something went wrong here. The request id leads to the log.',
      request_id: 'ID',
    },
  ],
]

t.test('formatRefusal() returns status, headers and body of each refusal', async (t) => {
  for (const [refusal, status, headers, body] of ROWS) {
    const reply = formatRefusal(refusal, {
      requestId: 'ID',
      resourceMetadata: 'https://m',
      tokenEndpoint: undefined,
    })
    t.strictSame({ ...reply, body: JSON.parse(reply.body) }, { status, headers, body }, refusal.refused)
  }
})

t.test('formatRefusal() repeats the scheme of the token, and names the token endpoint', async (t) => {
  const DPOP_ALGORITHMS = 'ES256 ES384 PS256 RS256 EdDSA Ed25519'
  const challengeTo = (refusal: Refusal): string | undefined =>
    formatRefusal(refusal, {
      requestId: 'ID',
      resourceMetadata: 'https://m',
      tokenEndpoint: 'https://t',
      credential: 'dpop',
    }).headers[1]
  t.equal(
    challengeTo({ refused: 'token_invalid', fault: { reason: 'inactive' } }),
    `DPoP error="invalid_token", error_description="The access token is unknown, expired or revoked. Refresh it at https://t.", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
  t.equal(
    challengeTo({ refused: 'token_invalid', fault: { reason: 'malformed' } }),
    `DPoP error="invalid_token", error_description="The access token is malformed. Send it as: Authorization: DPoP <access token>.", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
  t.equal(
    challengeTo({ refused: 'scope_missing', needed: ['a'], missing: ['a'] }),
    `DPoP error="insufficient_scope", error_description="The access token lacks a. Ask for a token with: a.", scope="a", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
  t.equal(
    challengeTo({ refused: 'credentials_ambiguous', detail: 'The detail.' }),
    `DPoP error="invalid_request", error_description="The detail.", resource_metadata="https://m", algs="${DPOP_ALGORITHMS}"`,
  )
})

/** The description of each fault of a token. A literal copy, independent of the code. */
const TOKEN_FAULTS: readonly (readonly [fault: TokenFault, description: string])[] = [
  [
    { reason: 'malformed' },
    'The access token is malformed. Send it as: Authorization: Bearer <access token>.',
  ],
  [
    { reason: 'unsupported_scheme' },
    'This API takes access tokens only: Authorization: Bearer <access token>.',
  ],
  [{ reason: 'inactive' }, 'The access token is unknown, expired or revoked. Get a new one from its issuer.'],
  [
    { reason: 'expired', secondsAgo: 0 },
    'The access token expired 0 seconds ago. Get a new one from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 1 },
    'The access token expired 1 second ago. Get a new one from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 2 },
    'The access token expired 2 seconds ago. Get a new one from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 59 },
    'The access token expired 59 seconds ago. Get a new one from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 60 },
    'The access token expired 1 minute ago. Get a new one from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 119 },
    'The access token expired 1 minute ago. Get a new one from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 120 },
    'The access token expired 2 minutes ago. Get a new one from its issuer.',
  ],
  [{ reason: 'wrong_issuer' }, 'The access token comes from an issuer that this API does not trust.'],
  [
    { reason: 'wrong_algorithm' },
    'The access token is signed with an algorithm that this API does not take from its issuer.',
  ],
  [
    { reason: 'wrong_type' },
    'This is no access token. Send the access token, not an ID token or another one.',
  ],
  [
    { reason: 'unknown_key' },
    'The access token is signed with a key that its issuer does not have. Get a new one from its issuer.',
  ],
  [{ reason: 'bad_signature' }, 'The signature of the access token is wrong.'],
  [{ reason: 'not_yet_valid' }, 'The access token is not valid yet. Is the clock of its issuer right?'],
  [
    { reason: 'wrong_audience', expected: 'https://api.test/mcp', actual: ['account'] },
    'The access token is meant for another resource. Request a token for the resource https://api.test/mcp.',
  ],
  [{ reason: 'sender_constrained' }, 'The access token is bound to something that this API cannot check.'],
  [
    { reason: 'proof_missing' },
    'The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in DPoP.',
  ],
  [
    { reason: 'not_bound' },
    'The access token is bound to no key. Send it as: Authorization: Bearer <access token>.',
  ],
  [
    { reason: 'wrong_key' },
    'The DPoP proof is signed with another key than the one that the access token is bound to.',
  ],
  [
    { reason: 'certificate_missing' },
    'The access token is bound to a client certificate. Send it on a connection with that certificate.',
  ],
  [
    { reason: 'wrong_certificate' },
    'The access token is bound to another client certificate than that of this connection.',
  ],
  [{ reason: 'claims_missing' }, 'The access token lacks claims that this API needs.'],
  [{ reason: 'claims_invalid' }, 'The access token has claims that make no sense.'],
]

/** The description of each fault of a DPoP proof. A literal copy, independent of the code. */
const PROOF_FAULTS: Readonly<Record<ProofFault, string>> = {
  missing: 'The DPoP proof is missing: send it in the header DPoP.',
  repeated: 'The DPoP proof has to be one: there is more than one in the header DPoP.',
  malformed: 'The DPoP proof is no signed JWT in compact form.',
  wrong_type: 'The DPoP proof needs the typ dpop+jwt.',
  wrong_algorithm:
    'The DPoP proof is signed with an algorithm that is not taken here; algs lists those that are.',
  bad_key: 'The DPoP proof needs the public key that fits its alg in jwk, and no private one.',
  bad_signature: 'The DPoP proof is not signed with the key in jwk.',
  wrong_method: 'The DPoP proof is for another method: htm is that of the request.',
  wrong_address:
    'The DPoP proof is for another address: htu is that of the request, at the public address of this API.',
  wrong_token: 'The DPoP proof is for another access token: ath is the SHA-256 of the one that is sent.',
  not_recent: 'The DPoP proof was not made just now: iat is more than a minute from the time here.',
  bad_id: 'The DPoP proof needs a jti of 1 to 256 characters.',
  replayed: 'The DPoP proof was used before: make a new one for each request.',
}

t.test('formatRefusal() describes each fault of a token and of a DPoP proof', async (t) => {
  const descriptionOf = (refusal: Refusal): unknown => {
    const options = { requestId: 'ID', resourceMetadata: 'https://m', tokenEndpoint: undefined }
    return JSON.parse(formatRefusal(refusal, options).body).error_description
  }
  for (const [fault, description] of TOKEN_FAULTS)
    t.equal(descriptionOf({ refused: 'token_invalid', fault }), description)
  for (const [fault, description] of Object.entries(PROOF_FAULTS))
    t.equal(descriptionOf({ refused: 'proof_invalid', fault: fault as ProofFault }), description)
})
