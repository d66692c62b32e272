import { hash } from 'node:crypto'

/**
 * The name under which gateways know a grant: base64url of the SHA-256 of its id. It stands in the introspection
 * response and on the revocation stream, and opens nothing.
 */
export function hashGrantId(grantId: string): string {
  return hash('sha256', grantId, 'base64url')
}
