import type { ProofFault } from '../../oauth/dpop/check-proof.ts'
import type { TokenFault } from '../../policy-engine/decide/rejection.ts'

/** Returns an error description for the client, with the next step if the client can fix the error. */
export function describeTokenFault(
  fault: TokenFault,
  tokenEndpoint: string | undefined,
  scheme: 'Bearer' | 'DPoP' = 'Bearer',
): string {
  const renew =
    tokenEndpoint === undefined ? 'Get a new token from its issuer.' : `Get a new token at ${tokenEndpoint}.`
  switch (fault.reason) {
    case 'malformed':
      return `The access token is malformed. Send it as: Authorization: ${scheme} <access token>.`
    case 'unsupported_scheme':
      return 'The authorization scheme is not supported. Send: Authorization: Bearer <access token>.'
    case 'inactive':
      return `The access token is unknown, expired or revoked. ${renew}`
    case 'expired':
      return `The access token expired ${ago(fault.secondsAgo)} ago. ${renew}`
    case 'wrong_issuer':
      return 'The access token comes from an issuer that this API does not trust.'
    case 'wrong_algorithm':
      return 'The access token is signed with an algorithm that this API does not allow for its issuer.'
    case 'wrong_type':
      return 'This JWT is not an access token. Send the access token, not an ID token or another token.'
    case 'unknown_key':
      return `The access token is signed with a key that its issuer does not publish. ${renew}`
    case 'bad_signature':
      return 'The signature of the access token is not valid.'
    case 'not_yet_valid':
      return 'The access token is not valid yet. Check the clock of its issuer.'
    case 'wrong_audience':
      return `The access token is meant for another resource. Request a token for the resource ${fault.expected}.`
    case 'sender_constrained':
      return 'The access token has a binding that this API cannot verify.'
    case 'proof_missing':
      return 'The access token is bound to a key. Send it as: Authorization: DPoP <access token>, with a proof in the DPoP header.'
    case 'not_bound':
      return 'The access token is not bound to a key. Send it as: Authorization: Bearer <access token>.'
    case 'wrong_key':
      return 'The DPoP proof is not signed with the key that the access token is bound to.'
    case 'certificate_missing':
      return 'The access token is bound to a client certificate. Send the token on a connection with that certificate.'
    case 'wrong_certificate':
      return 'The access token is not bound to the client certificate of this connection.'
    case 'claims_missing':
      return 'The access token lacks claims that this API requires.'
    case 'claims_invalid':
      return 'The access token has claims with invalid values.'
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
  missing: 'is missing: send it in the DPoP header',
  repeated: 'must be sent once: the request has several DPoP headers',
  malformed: 'is not a compact JWS',
  wrong_type: 'must have the typ dpop+jwt',
  wrong_algorithm:
    'is signed with an algorithm that is not allowed: algs in the challenge lists the allowed algorithms',
  bad_key: 'must have a public key in jwk that fits alg, without private members',
  bad_signature: 'is not signed with the key in jwk',
  wrong_method: 'is for another method: htm must be the method of the request',
  wrong_address: 'is for another URL: htu must be the public URL of the request',
  wrong_token: 'is for another access token: ath must be the SHA-256 hash of the token in the request',
  not_recent: 'is too old or too new: iat must be within 60 s of server time',
  expired: 'is not valid now: omit exp and nbf',
  bad_id: 'must have a jti of 1 to 256 characters',
  replayed: 'was already used: create a new proof for each request',
}
