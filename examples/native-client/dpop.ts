import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'

/** Creates proofs that the client has its key. RFC 9449 section 4.2. */
export type DpopKey = {
  prove(request: {
    readonly method: string
    readonly url: string
    readonly token?: string | undefined
    readonly nonce?: string | undefined
  }): string
}

/** Creates a key that lives as long as the process. */
export function createDpopKey(): DpopKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } })
  return {
    prove({ method, url, token, nonce }) {
      const { origin, pathname } = new URL(url)
      const claims = {
        jti: randomUUID(),
        htm: method,
        htu: `${origin}${pathname}`,
        iat: Math.floor(Date.now() / 1_000),
        ...(nonce === undefined ? {} : { nonce }),
        ...(token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }),
      }
      const input = `${header}.${encode(claims)}`
      const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return `${input}.${signature.toString('base64url')}`
    },
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
