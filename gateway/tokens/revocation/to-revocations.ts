import type { Revocation } from '../../../oauth/revocation.ts'
import { revocationName } from '../../../platform/revocation-name.ts'
import { asObject, type SecurityEvent } from './verify-security-event.ts'

export type EventMeaning = {
  readonly revocations: readonly (Revocation & { readonly issuer: string })[]
  /** Types of events without effect: unknown types, and events about subjects that tokens do not identify. */
  readonly ignored: readonly string[]
}

const BASE = 'https://schemas.openid.net/secevent/'
/** Events that revoke all earlier tokens of a subject. */
const OF_SUBJECT: ReadonlySet<string> = new Set([
  `${BASE}caep/event-type/session-revoked`,
  `${BASE}risc/event-type/sessions-revoked`,
  `${BASE}risc/event-type/account-disabled`,
  `${BASE}risc/event-type/account-purged`,
  `${BASE}risc/event-type/credential-compromise`,
])
const OF_TOKEN = `${BASE}oauth/event-type/token-revoked`

/**
 * Converts events to revocations. Tokens do not name their session. The end of a session therefore revokes all earlier
 * tokens of its subject. Clients in other sessions of the subject must refresh their tokens. Tokens issued after the
 * event stay valid, so a repeated or older event changes nothing.
 * Source: OpenID CAEP 1.0, RISC 1.0, OAuth Event Types 1.0; RFC 9493 for subjects.
 * @returns undefined when a relevant event names no subject.
 */
export function toRevocations(event: SecurityEvent): EventMeaning | undefined {
  const revocations: EventMeaning['revocations'][number][] = []
  const ignored: string[] = []
  for (const [type, payload] of event.events) {
    const ofSubject = OF_SUBJECT.has(type)
    if (!ofSubject && type !== OF_TOKEN) {
      ignored.push(type)
      continue
    }
    const { subject: own } = payload
    const ofToken = { format: 'iss_sub', iss: event.issuer, sub: event.claims.get('sub') }
    const named = [own, event.claims.get('sub_id'), event.claims.has('sub') ? ofToken : undefined]
    const subjects = named.filter((one) => one !== undefined)
    if (subjects.length === 0 || subjects.some((one) => asObject(one) === undefined)) return undefined
    const found = subjects.flatMap((one) => {
      const name = ofSubject ? nameOfSubject(one, event.issuer) : nameOfToken(one, event.issuer)
      return name === undefined ? [] : [name]
    })
    if (found.length === 0) ignored.push(type)
    for (const name of found)
      revocations.push({
        issuer: event.issuer,
        grant: undefined,
        token: ofSubject ? undefined : name,
        subject: ofSubject ? name : undefined,
        atSeconds: event.issuedAtSeconds,
        expiresAtSeconds: undefined,
      })
  }
  return { revocations, ignored }
}

/**
 * Reads an `iss_sub` subject, alone or as the user of a complex subject. Older drafts call this format `iss-sub`. An
 * issuer can name only its own subjects.
 */
function nameOfSubject(value: unknown, issuer: string): string | undefined {
  const subject = asObject(value) ?? {}
  const format = subject['format'] ?? subject['subject_type']
  if (format === 'complex' || format === undefined)
    return subject['user'] === undefined ? undefined : nameOfSubject(subject['user'], issuer)
  const { iss, sub } = subject
  if (format !== 'iss_sub' && format !== 'iss-sub') return undefined
  return iss === issuer && typeof sub === 'string' && sub !== '' ? revocationName(issuer, sub) : undefined
}

/** Reads a `jwt_id` subject, the only subject format that identifies a token by its claims. */
function nameOfToken(value: unknown, issuer: string): string | undefined {
  const { format, subject_type, iss, jti } = asObject(value) ?? {}
  if ((format ?? subject_type) !== 'jwt_id' || iss !== issuer || typeof jti !== 'string') return undefined
  return revocationName(issuer, jti)
}
