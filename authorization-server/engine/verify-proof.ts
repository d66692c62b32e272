import { hash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, errors, jwtVerify } from 'jose'
import { DPOP_ALGORITHMS } from '../../oauth/dpop-algorithms.ts'

/** What a proof has to be made for. */
export type ProofRequest = {
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  readonly accessToken: string
  readonly nowSeconds: number
  /** Uses up an id of a key's; false when that was done before. */
  readonly isFirstUse: (thumbprint: string, id: string, expiresAtSeconds: number) => Promise<boolean>
}

/** A proof is good for so long before and after it was made. Seconds. */
const WINDOW_SECONDS = 60
const LONGEST_PROOF = 8_192
const LONGEST_ID = 256

/**
 * Verifies the DPoP proof of a request to an endpoint of ours; those of the engine's own endpoints are its business.
 * Source: RFC 9449 section 4.3.
 * @returns the thumbprint of its key; undefined when it proves nothing.
 */
export async function verifyProof(proof: string, request: ProofRequest): Promise<string | undefined> {
  if (proof.length > LONGEST_PROOF) return undefined
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: [...DPOP_ALGORITHMS],
      typ: 'dpop+jwt',
      currentDate: new Date(request.nowSeconds * 1_000),
    })
    const { jti, iat, htm, htu, ath } = payload
    if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_ID) return undefined
    if (typeof iat !== 'number' || Math.abs(request.nowSeconds - iat) > WINDOW_SECONDS) return undefined
    if (htm !== request.method || !isAddress(htu, request.url)) return undefined
    if (ath !== hash('sha256', request.accessToken, 'base64url')) return undefined
    if (protectedHeader.jwk === undefined) return undefined
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk)
    return (await request.isFirstUse(thumbprint, jti, iat + WINDOW_SECONDS)) ? thumbprint : undefined
  } catch (error) {
    // Besides its own errors jose passes on what the parser of keys says about one that is none.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
      return undefined
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
