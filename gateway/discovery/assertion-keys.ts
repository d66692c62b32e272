import type { AssertionKey } from '../upstream-identity/assertion-key.ts'
import { type GatewayDocument, type Representation, representation } from './discovery-document.ts'

/** Path of the public keys that verify the gateway's assertions. */
export const ASSERTION_KEYS_PATH = '/.well-known/scopegate/jwks.json'

/**
 * Creates the JWK Set of the assertion keys, with public members only. When the keys change, the gateway serializes the
 * JWK Set again. Source: RFC 7517 section 5.
 */
export function assertionKeysDocument(publishedKeys: () => readonly AssertionKey[]): GatewayDocument {
  let written: { readonly keys: readonly AssertionKey[]; readonly document: Representation } | undefined
  return () => {
    const keys = publishedKeys()
    if (written?.keys !== keys) {
      const set = { keys: keys.map(({ publicJwk }) => publicJwk) }
      written = { keys, document: representation('application/jwk-set+json', JSON.stringify(set)) }
    }
    return written.document
  }
}
