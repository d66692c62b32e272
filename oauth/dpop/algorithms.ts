/**
 * Signature algorithms of DPoP proofs that the gateway and the authorization server accept. The metadata of both
 * services lists these algorithms. All are asymmetric, as RFC 9449 section 4.3 and RFC 8725 section 3.1 require.
 */
export const DPOP_ALGORITHMS = ['ES256', 'ES384', 'PS256', 'RS256', 'EdDSA', 'Ed25519'] as const
