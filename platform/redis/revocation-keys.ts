import { hash } from 'node:crypto'

/** The stream of revocations in Redis; field `r` of an entry is the revocation as JSON (oauth/revocation.ts). */
export const REVOCATION_STREAM = '{scopegate}:revocations'

/** The field of an entry. */
export const REVOCATION_FIELD = 'r'

/** Says for a minute that the issuer writes its revocations into this Redis. */
export function publisherKey(issuer: string): string {
  return `{scopegate}:publishes:${hash('sha256', issuer, 'base64url')}`
}

/**
 * Stands in Redis for as long as tokens of what was revoked could be good; written in the same step as the entry of the
 * stream, so that a verdict read from Redis can be judged there and then. It holds the second of the revocation.
 */
export function revokedKey(kind: 'grant' | 'token' | 'subject', name: string): string {
  return `{scopegate}:revoked:${kind}:${name}`
}

/** Holds the second of the issuer's last revocation that a gateway wrote into the stream; for as long as the mark. */
export function relayedKey(issuer: string, kind: 'grant' | 'token' | 'subject', name: string): string {
  return `{scopegate}:relayed:${hash('sha256', issuer, 'base64url')}:${kind}:${name}`
}
