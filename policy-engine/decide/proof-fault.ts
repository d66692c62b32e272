/** Why a DPoP proof proves nothing. RFC 9449 section 4.3. */
export type ProofFault =
  | 'missing'
  /** More than one header, or several values in one. */
  | 'repeated'
  | 'malformed'
  | 'wrong_type'
  | 'wrong_algorithm'
  /** No public key, one with private members, one of another kind, one that is too weak. */
  | 'bad_key'
  | 'bad_signature'
  | 'wrong_method'
  | 'wrong_address'
  /** Made for another access token. */
  | 'wrong_token'
  /** Too old, or from the future. */
  | 'not_recent'
  | 'bad_id'
  /** Seen before. */
  | 'replayed'
