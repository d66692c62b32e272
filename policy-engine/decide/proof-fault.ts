/** Reason why a DPoP proof is invalid. RFC 9449 section 4.3. */
export type ProofFault =
  | 'missing'
  /** More than one `DPoP` header, or several values in one header. */
  | 'repeated'
  | 'malformed'
  | 'wrong_type'
  | 'wrong_algorithm'
  /** Missing public key, private members, wrong type of key, or weak key. */
  | 'bad_key'
  | 'bad_signature'
  | 'wrong_method'
  | 'wrong_address'
  /** The proof belongs to another access token. */
  | 'wrong_token'
  /** The proof is too old, or its time is in the future. */
  | 'not_recent'
  | 'bad_id'
  | 'replayed'
