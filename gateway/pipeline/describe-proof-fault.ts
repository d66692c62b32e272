import type { ProofFault } from '../../policy-engine/decide/proof-fault.ts'

export function describeProofFault(fault: ProofFault): string {
  return `The DPoP proof ${FAULTS[fault]}.`
}

const FAULTS: Readonly<Record<ProofFault, string>> = {
  missing: 'is missing: send it in the header DPoP',
  repeated: 'has to be one: there is more than one in the header DPoP',
  malformed: 'is no signed JWT in compact form',
  wrong_type: 'needs the typ dpop+jwt',
  wrong_algorithm: 'is signed with an algorithm that is not taken here; algs lists those that are',
  bad_key: 'needs the public key that fits its alg in jwk, and no private one',
  bad_signature: 'is not signed with the key in jwk',
  wrong_method: 'is for another method: htm is that of the request',
  wrong_address: 'is for another address: htu is that of the request, at the public address of this API',
  wrong_token: 'is for another access token: ath is the SHA-256 of the one that is sent',
  not_recent: 'was not made just now: iat is more than a minute from the time here',
  bad_id: 'needs a jti of 1 to 256 characters',
  replayed: 'was used before: make a new one for each request',
}
