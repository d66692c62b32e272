import { hash } from 'node:crypto'
import { ROOT_TAG } from './key-layout.ts'

/** The revocation stream in Redis. Field `r` of an entry is the revocation as JSON (oauth/revocation.ts). */
export const REVOCATION_STREAM = `${ROOT_TAG}:revocations`

export function revocationStream(tag: string): string {
  return `${tag}:revocations`
}

/** Pub/sub channel of a Redis Cluster. A message names the stream that has a new entry. */
export const REVOCATION_CHANNEL = 'scopegate:revocations'

export const REVOCATION_FIELD = 'r'

/** Returns the key that marks an issuer as a publisher of revocations in this Redis. The key expires after a minute. */
export function publisherKey(issuer: string): string {
  return `${ROOT_TAG}:publishes:${hash('sha256', issuer, 'base64url')}`
}

/**
 * Returns the key that marks a revoked name. Its value is the time of the revocation in seconds. The key expires when
 * no affected token can still be valid. The key is written in the same step as the stream entry, so that a gateway can
 * check an introspection result from Redis immediately.
 */
export function revokedKey(kind: 'grant' | 'token' | 'subject', name: string, tag = ROOT_TAG): string {
  return `${tag}:revoked:${kind}:${name}`
}

/**
 * Returns the key for the issuer's last revocation that a gateway wrote into the stream. Its value is the time of the
 * revocation in seconds. The key expires together with the mark.
 */
export function relayedKey(
  issuer: string,
  kind: 'grant' | 'token' | 'subject',
  name: string,
  tag = ROOT_TAG,
): string {
  return `${tag}:relayed:${hash('sha256', issuer, 'base64url')}:${kind}:${name}`
}
