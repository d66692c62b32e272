import t from 'tap'
import { describeProofFault, describeTokenFault } from '../../../gateway/pipeline/describe-fault.ts'
import type { ProofFault } from '../../../oauth/dpop/check-proof.ts'
import type { TokenFault } from '../../../policy-engine/decide/rejection.ts'

/** The description of each fault of a token. The list does not use the code, so that it detects changes of the code. */
const TOKEN_FAULTS: readonly (readonly [fault: TokenFault, description: string])[] = [
  [
    { reason: 'malformed' },
    'The access token is malformed. Send it as: Authorization: Bearer <access token>.',
  ],
  [
    { reason: 'unsupported_scheme' },
    'The authorization scheme is not supported. Send: Authorization: Bearer <access token>.',
  ],
  [
    { reason: 'inactive' },
    'The access token is unknown, expired or revoked. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 0 },
    'The access token expired 0 seconds ago. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 1 },
    'The access token expired 1 second ago. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 2 },
    'The access token expired 2 seconds ago. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 59 },
    'The access token expired 59 seconds ago. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 60 },
    'The access token expired 1 minute ago. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 119 },
    'The access token expired 1 minute ago. Get a new token from its issuer.',
  ],
  [
    { reason: 'expired', secondsAgo: 120 },
    'The access token expired 2 minutes ago. Get a new token from its issuer.',
  ],
  [{ reason: 'wrong_issuer' }, 'The access token comes from an issuer that this API does not trust.'],
  [
    { reason: 'wrong_algorithm' },
    'The access token is signed with an algorithm that this API does not allow for its issuer.',
  ],
  [
    { reason: 'wrong_type' },
    'This JWT is not an access token. Send the access token, not an ID token or another token.',
  ],
  [
    { reason: 'unknown_key' },
    'The access token is signed with a key that its issuer does not publish. Get a new token from its issuer.',
  ],
  [{ reason: 'bad_signature' }, 'The signature of the access token is not valid.'],
  [{ reason: 'not_yet_valid' }, 'The access token is not valid yet. Check the clock of its issuer.'],
  [
    { reason: 'wrong_audience', expected: 'https://api.test/mcp', actual: ['account'] },
    'The access token is meant for another resource. Request a token for the resource https://api.test/mcp.',
  ],
  [{ reason: 'sender_constrained' }, 'The access token has a binding that this API cannot verify.'],
  [
    { reason: 'proof_missing' },
    'The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in the DPoP header.',
  ],
  [
    { reason: 'not_bound' },
    'The access token is not bound to a key. Send it as: Authorization: Bearer <access token>.',
  ],
  [{ reason: 'wrong_key' }, 'The DPoP proof is not signed with the key that the access token is bound to.'],
  [
    { reason: 'certificate_missing' },
    'The access token is bound to a client certificate. Send the token on a connection with that certificate.',
  ],
  [
    { reason: 'wrong_certificate' },
    'The access token is not bound to the client certificate of this connection.',
  ],
  [{ reason: 'claims_missing' }, 'The access token lacks claims that this API requires.'],
  [{ reason: 'claims_invalid' }, 'The access token has claims with invalid values.'],
]

/**
 * The description of each fault of a DPoP proof. The list does not use the code, so that it detects changes of the
 * code.
 */
const PROOF_FAULTS: Readonly<Record<ProofFault, string>> = {
  missing: 'The DPoP proof is missing: send it in the DPoP header.',
  repeated: 'The DPoP proof must be sent once: the request has several DPoP headers.',
  malformed: 'The DPoP proof is not a compact JWS.',
  wrong_type: 'The DPoP proof must have the typ dpop+jwt.',
  wrong_algorithm:
    'The DPoP proof is signed with an algorithm that is not allowed: algs in the challenge lists the allowed algorithms.',
  bad_key: 'The DPoP proof must have a public key in jwk that fits alg, without private members.',
  bad_signature: 'The DPoP proof is not signed with the key in jwk.',
  wrong_method: 'The DPoP proof is for another method: htm must be the method of the request.',
  wrong_address: 'The DPoP proof is for another URL: htu must be the public URL of the request.',
  wrong_token:
    'The DPoP proof is for another access token: ath must be the SHA-256 hash of the token in the request.',
  not_recent: 'The DPoP proof is too old or too new: iat must be within 60 s of server time.',
  expired: 'The DPoP proof is not valid now: omit exp and nbf.',
  bad_id: 'The DPoP proof must have a jti of 1 to 256 characters.',
  replayed: 'The DPoP proof was already used: create a new proof for each request.',
}

t.test('describeTokenFault() names the fault of the token', async (t) => {
  for (const [fault, description] of TOKEN_FAULTS) t.equal(describeTokenFault(fault, undefined), description)
})

t.test('describeProofFault() names the fault of the proof', async (t) => {
  for (const [fault, description] of Object.entries(PROOF_FAULTS))
    t.equal(describeProofFault(fault as ProofFault), description)
})

t.test('describeTokenFault() names the token endpoint if a new token can solve the problem', async (t) => {
  const endpoint = 'https://api.test/api/oauth/token'
  for (const reason of ['inactive', 'unknown_key'] as const)
    t.match(describeTokenFault({ reason }, endpoint), `Get a new token at ${endpoint}.`, reason)
  t.match(describeTokenFault({ reason: 'inactive' }, undefined), 'Get a new token from its issuer.')
  t.match(
    describeTokenFault({ reason: 'malformed' }, endpoint, 'DPoP'),
    'Authorization: DPoP <access token>',
    'the scheme of the request',
  )
})
