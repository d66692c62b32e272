import type { ProofFault } from '../../policy-engine/decide/proof-fault.ts'
import type { TokenFault } from '../../policy-engine/decide/refusal.ts'

/** Returns an error description for the client, with the next step where there is one. */
export function describeTokenFault(
  fault: TokenFault,
  tokenEndpoint: string | undefined,
  scheme: 'Bearer' | 'DPoP' = 'Bearer',
): string {
  const refresh =
    tokenEndpoint === undefined ? 'Get a new one from its issuer.' : `Refresh it at ${tokenEndpoint}.`
  switch (fault.reason) {
    case 'malformed':
      return `The access token is malformed. Send it as: Authorization: ${scheme} <access token>.`
    case 'unsupported_scheme':
      return 'This API takes access tokens only: Authorization: Bearer <access token>.'
    case 'inactive':
      return `The access token is unknown, expired or revoked. ${refresh}`
    case 'expired':
      return `The access token expired ${ago(fault.secondsAgo)} ago. ${refresh}`
    case 'wrong_issuer':
      return 'The access token comes from an issuer that this API does not trust.'
    case 'wrong_algorithm':
      return 'The access token is signed with an algorithm that this API does not take from its issuer.'
    case 'wrong_type':
      return 'This is no access token. Send the access token, not an ID token or another one.'
    case 'unknown_key':
      return `The access token is signed with a key that its issuer does not have. ${refresh}`
    case 'bad_signature':
      return 'The signature of the access token is wrong.'
    case 'not_yet_valid':
      return 'The access token is not valid yet. Is the clock of its issuer right?'
    case 'wrong_audience':
      return `The access token is meant for another resource. Request a token for the resource ${fault.expected}.`
    case 'sender_constrained':
      return 'The access token is bound to something that this API cannot check.'
    case 'proof_missing':
      return 'The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in DPoP.'
    case 'not_bound':
      return 'The access token is bound to no key. Send it as: Authorization: Bearer <access token>.'
    case 'wrong_key':
      return 'The DPoP proof is signed with another key than the one that the access token is bound to.'
    case 'certificate_missing':
      return 'The access token is bound to a client certificate. Send it on a connection with that certificate.'
    case 'wrong_certificate':
      return 'The access token is bound to another client certificate than that of this connection.'
    case 'claims_missing':
      return 'The access token lacks claims that this API needs.'
    case 'claims_invalid':
      return 'The access token has claims that make no sense.'
  }
}

function ago(seconds: number): string {
  if (seconds < 60) return seconds === 1 ? '1 second' : `${seconds} seconds`
  const minutes = Math.floor(seconds / 60)
  return minutes === 1 ? '1 minute' : `${minutes} minutes`
}

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
