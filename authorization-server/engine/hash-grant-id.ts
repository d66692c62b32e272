import { hash } from 'node:crypto'

/**
 * Returns the id of a grant for gateways: base64url of the SHA-256 of the grant id.
 * Introspection responses and the revocation stream contain it. It gives no access.
 */
export function hashGrantId(grantId: string): string {
  return hash('sha256', grantId, 'base64url')
}
