/**
 * What an issuer takes back: every token of a grant, one token, or every token of a person or client so far. It names
 * them by hashes and holds no token.
 */
export type Revocation = {
  /** Undefined: the issuer that the message came from. */
  readonly issuer: string | undefined
  /** Name of a grant: base64url of the SHA-256 of its id. */
  readonly grant: string | undefined
  /** Name of one token: base64url of the SHA-256 of `<iss>` line feed `<jti>`. */
  readonly token: string | undefined
  /** Name of a subject: base64url of the SHA-256 of `<iss>` line feed `<sub>`. */
  readonly subject: string | undefined
  /** What a subject got later is good. Seconds since the epoch; undefined: when the message was read. */
  readonly atSeconds: number | undefined
  /** Nothing that is taken back would be good after this second anyway. Undefined: not known. */
  readonly expiresAtSeconds: number | undefined
}

/** Longer than any message with three hashes. Characters. */
const MESSAGE_LIMIT = 4_096
const NAME = /^[\x21-\x7e]{1,256}$/
/** As long as the configuration takes one. */
const ISSUER = /^\S{1,2048}$/u

/** Writes a revocation as JSON, for the stream of events and for Redis. */
export function writeRevocation(revocation: Revocation): string {
  return JSON.stringify({
    iss: revocation.issuer,
    grant: revocation.grant,
    token: revocation.token,
    subject: revocation.subject,
    at: revocation.atSeconds,
    exp: revocation.expiresAtSeconds,
  })
}

/** @returns what the JSON text says, or undefined when it cannot be told what is taken back. */
export function readRevocation(text: string): Revocation | undefined {
  const message = parseObject(text)
  if (message === undefined) return undefined
  const member = (name: string): unknown => message.get(name)
  const names = [member('grant'), member('token'), member('subject')]
  if (!names.every((name) => isMissingOr(NAME, name)) || names.every((name) => name === undefined))
    return undefined
  const [grant, token, subject] = names as readonly (string | undefined)[]
  const issuer = member('iss')
  if (!isMissingOr(ISSUER, issuer)) return undefined
  const [atSeconds, expiresAtSeconds] = [member('at'), member('exp')]
  if (!isSecondOrMissing(atSeconds) || !isSecondOrMissing(expiresAtSeconds)) return undefined
  return { issuer, grant, token, subject, atSeconds, expiresAtSeconds }
}

function parseObject(text: string): ReadonlyMap<string, unknown> | undefined {
  if (text.length > MESSAGE_LIMIT) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return new Map<string, unknown>(Object.entries(value))
  } catch {
    return undefined
  }
}

function isMissingOr(pattern: RegExp, value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && pattern.test(value))
}

function isSecondOrMissing(value: unknown): value is number | undefined {
  return value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0)
}
