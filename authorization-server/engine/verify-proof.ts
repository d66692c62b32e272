import { hash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, errors, jwtVerify } from 'jose'
import { DPOP_ALGORITHMS } from '../../oauth/dpop-algorithms.ts'

/** What a proof has to be made for. */
export type ProofRequest = {
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  readonly accessToken: string
  /** Of the key that the token is bound to. */
  readonly keyThumbprint: string
  readonly nowSeconds: number
  /** Uses up an id of a key's; false when that was done before. */
  readonly isFirstUse: (thumbprint: string, id: string, expiresAtSeconds: number) => Promise<boolean>
}

/** What a proof is worth. */
export type ProofVerdict = 'good' | 'bad' | 'of_another_key'

/** A proof is good for so long before and after it was made. Seconds. */
const WINDOW_SECONDS = 60
const LONGEST_PROOF = 8_192
const LONGEST_ID = 256

/**
 * Verifies the DPoP proof of a request to an endpoint of ours; those of the engine's own endpoints are its business.
 * A proof that is refused for anything is not used up by that.
 * Source: RFC 9449 sections 4.3 and 7.1.
 */
export async function verifyProof(proof: string, request: ProofRequest): Promise<ProofVerdict> {
  if (proof.length > LONGEST_PROOF) return 'bad'
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: [...DPOP_ALGORITHMS],
      typ: 'dpop+jwt',
      currentDate: new Date(request.nowSeconds * 1_000),
    })
    const { jti, iat, htm, htu, ath } = payload
    if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_ID) return 'bad'
    if (typeof iat !== 'number' || Math.abs(request.nowSeconds - iat) > WINDOW_SECONDS) return 'bad'
    if (htm !== request.method || !isAddress(htu, request.url)) return 'bad'
    if (ath !== hash('sha256', request.accessToken, 'base64url')) return 'bad'
    if (protectedHeader.jwk === undefined) return 'bad'
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk)
    if (thumbprint !== request.keyThumbprint) return 'of_another_key'
    return (await request.isFirstUse(thumbprint, jti, iat + WINDOW_SECONDS)) ? 'good' : 'bad'
  } catch (error) {
    // Besides its own errors jose passes on what the parser of keys says about one that is none.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
      return 'bad'
    throw error
  }
}

function isAddress(htu: unknown, url: string): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const address = new URL(htu)
  address.search = ''
  address.hash = ''
  return address.href === url
}
