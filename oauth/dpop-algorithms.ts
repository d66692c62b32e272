/**
 * What a DPoP proof may be signed with, at the resource and at the authorization server alike; both tell it in their
 * metadata. Asymmetric ones only: RFC 9449 section 4.3, RFC 8725 section 3.1.
 */
export const DPOP_ALGORITHMS = ['ES256', 'ES384', 'PS256', 'RS256', 'EdDSA', 'Ed25519'] as const
