import type { VerificationKey } from '../../../oauth/jwt/verification-key.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'
import { isSignedBy } from '../jwt/is-signed-by.ts'
import type { IssuerKeys } from '../jwt/issuer-keys.ts'
import { IssuerKeysError } from '../jwt/issuer-keys-error.ts'
import { type CompactJwt, readCompactJwt } from '../jwt/read-compact-jwt.ts'

/** An issuer that may send events, and the rules for its Security Event Tokens. */
export type EventIssuer = {
  readonly issuer: string
  /** Values of `aud` that identify this gateway. */
  readonly audience: readonly string[]
  readonly algorithms: ReadonlySet<string>
  readonly keys: Pick<IssuerKeys, 'lookUp' | 'confirmedAtMs'>
  readonly clockToleranceSeconds: number
}

/** A Security Event Token that its issuer signed for this gateway. */
export type SecurityEvent = {
  readonly issuer: string
  readonly id: string
  readonly issuedAtSeconds: number
  readonly claims: ReadonlyMap<string, unknown>
  /** Payloads by type of event. At least one; each payload is an object. */
  readonly events: ReadonlyMap<string, Payload>
}

type Payload = Readonly<Record<string, unknown>>

/**
 * The error response to a transmitter. The description contains nothing that the transmitter sent. RFC 8935 section
 * 2.4.
 */
export type EventFault = {
  readonly err:
    | 'invalid_request'
    | 'invalid_key'
    | 'invalid_issuer'
    | 'invalid_audience'
    | 'authentication_failed'
  readonly description: string
}

const LONGEST_ID = 256

/**
 * Verifies a Security Event Token as strictly as an access token: form, type, issuer, algorithm, key, signature,
 * audience, times. A Security Event Token has its own `typ`. The gateway therefore never accepts an access token as an
 * event, or an event as an access token.
 * Source: RFC 8417 sections 2.2, 2.3 and 4, RFC 8935 section 2.
 * Cost: one signature verification, only for a known issuer.
 * @throws {UnverifiableError} by rejection, when the issuer's keys are unavailable, or newer keys cannot be fetched
 * yet.
 */
export async function verifySecurityEvent(
  text: string,
  issuers: ReadonlyMap<string, EventIssuer>,
  nowSeconds: number,
): Promise<SecurityEvent | EventFault> {
  const jwt = readCompactJwt(text)
  if (typeof jwt === 'string') return fault('invalid_request', 'The event must be a compact JWS.')
  if (jwt.type !== 'secevent+jwt')
    return fault('invalid_request', 'The typ of the event must be secevent+jwt.')
  const issuer = issuers.get(jwt.issuer ?? '')
  if (issuer === undefined) return fault('invalid_issuer', 'The gateway accepts no events from this issuer.')
  if (!issuer.algorithms.has(jwt.algorithm))
    return fault('invalid_key', 'The alg of the event is not allowed.')
  const key = await findKey(jwt, issuer)
  if (key === undefined) return fault('invalid_key', 'The issuer does not publish the key of the event.')
  if (!(await isSignedBy(jwt, key)))
    return fault('authentication_failed', 'The signature of the event is not valid.')

  const { claims } = jwt
  const audience: readonly unknown[] = [claims.get('aud')].flat()
  if (!audience.some((one) => typeof one === 'string' && issuer.audience.includes(one)))
    return fault('invalid_audience', 'The aud of the event must name this gateway.')
  const id = claims.get('jti')
  const issuedAt = claims.get('iat')
  const latest = nowSeconds + issuer.clockToleranceSeconds
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID)
    return fault('invalid_request', `The jti of the event must be a text of 1 to ${LONGEST_ID} characters.`)
  if (!isSecond(issuedAt) || issuedAt > latest)
    return fault(
      'invalid_request',
      'The iat of the event must be a time in seconds that is not in the future.',
    )
  const expires = claims.get('exp')
  if (claims.has('exp') && !(isSecond(expires) && expires + issuer.clockToleranceSeconds > nowSeconds))
    return fault('invalid_request', 'The exp of the event must be a time in seconds that is in the future.')
  const events = readEvents(claims.get('events'))
  if (events === undefined) return fault('invalid_request', 'The events member does not follow RFC 8417.')
  return { issuer: issuer.issuer, id, issuedAtSeconds: issuedAt, claims, events }
}

/**
 * Finds the key of an event. An issuer does not send a rejected event again. A key therefore counts as unknown only if
 * a fetch after the event did not return the key.
 * Between two fetches for unknown keys there is a cooldown, which any client can trigger. During the cooldown, the
 * gateway rejects an access token with an unknown key. For an event, the gateway asks the issuer to send the event
 * again.
 */
async function findKey(
  { keyId, algorithm }: CompactJwt,
  { issuer, keys }: EventIssuer,
): Promise<VerificationKey | undefined> {
  const { confirmedAtMs } = keys
  const looked = keys.lookUp(keyId, algorithm)
  if (!(looked instanceof Promise)) return looked
  const key = await looked
  if (key === undefined && keys.confirmedAtMs === confirmedAtMs)
    throw new IssuerKeysError(
      'ERR_ISSUER_KEYS_UNCONFIRMED',
      `The keys of ${issuer} were just fetched for another unknown key. Try again in a moment.`,
    )
  return key
}

function fault(err: EventFault['err'], description: string): EventFault {
  return { err, description }
}

function isSecond(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Reads the events: at least one, each with an object as its payload. RFC 8417 section 2.2. */
function readEvents(value: unknown): ReadonlyMap<string, Payload> | undefined {
  const members = Object.entries(asObject(value) ?? {})
  if (members.length === 0 || members.some(([, payload]) => asObject(payload) === undefined)) return undefined
  return new Map(members as [string, Payload][])
}

/** @returns undefined for any value other than a JSON object. */
export function asObject(value: unknown): Payload | undefined {
  return isRecord(value) ? value : undefined
}
