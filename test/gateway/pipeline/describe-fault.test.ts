import t from 'tap'
import { describeProofFault, describeTokenFault } from '../../../gateway/pipeline/describe-fault.ts'
import type { ProofFault } from '../../../policy-engine/decide/proof-fault.ts'
import type { TokenFault } from '../../../policy-engine/decide/refusal.ts'

const RESOURCE = 'https://api.test/mcp'

type Row = readonly [fault: TokenFault, part: string]

/** The part of each description that identifies the fault. A literal copy, independent of the code. */
const PARTS: readonly Row[] = [
  [{ reason: 'malformed' }, 'is malformed. Send it as: Authorization: Bearer <access token>'],
  [{ reason: 'unsupported_scheme' }, 'access tokens only: Authorization: Bearer <access token>'],
  [{ reason: 'inactive' }, 'unknown, expired or revoked'],
  [{ reason: 'expired', secondsAgo: 1 }, 'expired 1 second ago'],
  [{ reason: 'expired', secondsAgo: 59 }, 'expired 59 seconds ago'],
  [{ reason: 'expired', secondsAgo: 60 }, 'expired 1 minute ago'],
  [{ reason: 'expired', secondsAgo: 180 }, 'expired 3 minutes ago'],
  [{ reason: 'wrong_issuer' }, 'an issuer that this API does not trust'],
  [{ reason: 'wrong_algorithm' }, 'signed with an algorithm'],
  [{ reason: 'wrong_type' }, 'not an ID token'],
  [{ reason: 'unknown_key' }, 'a key that its issuer does not have'],
  [{ reason: 'bad_signature' }, 'signature of the access token is wrong'],
  [{ reason: 'not_yet_valid' }, 'not valid yet'],
  [
    { reason: 'wrong_audience', expected: RESOURCE, actual: ['account'] },
    `Request a token for the resource ${RESOURCE}`,
  ],
  [{ reason: 'sender_constrained' }, 'bound to something that this API cannot check'],
  [
    { reason: 'proof_missing' },
    'bound to a key. Send it as: Authorization: DPoP <access token>, with a proof',
  ],
  [{ reason: 'not_bound' }, 'Send it as: Authorization: Bearer <access token>'],
  [{ reason: 'wrong_key' }, 'proof is signed with another key'],
  [{ reason: 'certificate_missing' }, 'bound to a client certificate. Send it on a connection with that'],
  [{ reason: 'wrong_certificate' }, 'bound to another client certificate'],
  [{ reason: 'claims_missing' }, 'lacks claims'],
  [{ reason: 'claims_invalid' }, 'has claims that'],
]

t.test('describeTokenFault() names the fault of the token', async (t) => {
  for (const [fault, part] of PARTS) t.match(describeTokenFault(fault, undefined), part, fault.reason)
  const descriptions = PARTS.map(([fault]) => describeTokenFault(fault, undefined))
  t.equal(new Set(descriptions).size, PARTS.length, 'each fault has a different description')
})

t.test('describeTokenFault() names the token endpoint where a refresh helps', async (t) => {
  const endpoint = 'https://api.test/api/oauth/token'
  for (const reason of ['inactive', 'unknown_key'] as const)
    t.match(describeTokenFault({ reason }, endpoint), `Refresh it at ${endpoint}.`, reason)
  t.match(describeTokenFault({ reason: 'inactive' }, undefined), 'Get a new one from its issuer.')
  t.match(
    describeTokenFault({ reason: 'malformed' }, endpoint, 'DPoP'),
    'Authorization: DPoP <access token>',
    'the scheme of the request',
  )
})

/** The term in each description that identifies the fault. A literal copy, independent of the code. */
const TERMS: Readonly<Record<ProofFault, string>> = {
  missing: 'header DPoP',
  repeated: 'more than one',
  malformed: 'compact',
  wrong_type: 'dpop+jwt',
  wrong_algorithm: 'algs',
  bad_key: 'public key',
  bad_signature: 'key in jwk',
  wrong_method: 'htm',
  wrong_address: 'htu',
  wrong_token: 'ath',
  not_recent: 'iat',
  bad_id: 'jti',
  replayed: 'used before',
}

t.test('describeProofFault() names the fault of the proof', async (t) => {
  const faults = Object.keys(TERMS) as ProofFault[]
  for (const fault of faults) t.ok(describeProofFault(fault).includes(TERMS[fault]), fault)
  t.equal(
    new Set(faults.map(describeProofFault)).size,
    faults.length,
    'each fault has a different description',
  )
})
