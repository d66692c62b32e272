import { hash } from 'node:crypto'
import type { Revocation } from '../../../oauth/revocation.ts'
import { subjectName } from './revoked-tokens.ts'
import { asObject, type SecurityEvent } from './verify-security-event.ts'

/** What events mean for tokens. */
export type EventMeaning = {
  readonly revocations: readonly (Revocation & { readonly issuer: string })[]
  /** Types of events that mean nothing here, or about somebody who cannot be told by tokens. */
  readonly ignored: readonly string[]
}

const BASE = 'https://schemas.openid.net/secevent/'
/** What somebody got before is no longer good. */
const OF_SUBJECT: ReadonlySet<string> = new Set([
  `${BASE}caep/event-type/session-revoked`,
  `${BASE}risc/event-type/sessions-revoked`,
  `${BASE}risc/event-type/account-disabled`,
  `${BASE}risc/event-type/account-purged`,
  `${BASE}risc/event-type/credential-compromise`,
])
const OF_TOKEN = `${BASE}oauth/event-type/token-revoked`

/**
 * Says in our words what events take back. Tokens do not name the session they come from: the end of a session is that of all
 * tokens of its subject so far, and clients of its other sessions refresh. What was issued later than the event is good, so
 * that the same event, or an older one, changes nothing when it comes again.
 * Source: OpenID CAEP 1.0, RISC 1.0, OAuth Event Types 1.0; RFC 9493 for subjects.
 * @returns undefined when an event that would mean something names nobody at all.
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

/** `iss_sub`, alone or as the user of a complex subject; `iss-sub` in older drafts. Nobody speaks for another issuer. */
function nameOfSubject(value: unknown, issuer: string): string | undefined {
  const subject = asObject(value) ?? {}
  const format = subject['format'] ?? subject['subject_type']
  if (format === 'complex' || format === undefined)
    return subject['user'] === undefined ? undefined : nameOfSubject(subject['user'], issuer)
  const { iss, sub } = subject
  if (format !== 'iss_sub' && format !== 'iss-sub') return undefined
  return iss === issuer && typeof sub === 'string' && sub !== '' ? subjectName(issuer, sub) : undefined
}

/** `jwt_id`: the only way to name a token that its claims tell of. */
function nameOfToken(value: unknown, issuer: string): string | undefined {
  const { format, subject_type, iss, jti } = asObject(value) ?? {}
  if ((format ?? subject_type) !== 'jwt_id' || iss !== issuer || typeof jti !== 'string') return undefined
  return hash('sha256', `${issuer}\n${jti}`, 'base64url')
}
