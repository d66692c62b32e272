import { JOSEError } from 'jose/errors'
import { compactVerify } from 'jose/jws/compact/verify'
import type { VerificationKey } from '../../../oauth/jwt/verification-key.ts'
import type { CompactJwt } from './read-compact-jwt.ts'

/** Returns whether this key made the signature, with the algorithm that the JWT names. Source: RFC 7515 section 5.2. */
export async function isSignedBy(jwt: CompactJwt, { key }: VerificationKey): Promise<boolean> {
  try {
    await compactVerify(jwt.token, key, { algorithms: [jwt.algorithm] })
    return true
  } catch (error) {
    if (error instanceof JOSEError) return false
    throw error
  }
}
