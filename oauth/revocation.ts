/**
 * Revocation by an issuer: all tokens of a grant, one token, or all tokens that a user or client received so far.
 * A revocation identifies tokens by hashes and contains no token.
 */
export type Revocation = {
  /** Issuer of the revoked tokens. Undefined: the issuer that sent the message. */
  readonly issuer: string | undefined
  /** Identifier of a grant: base64url of the SHA-256 of its ID. */
  readonly grant: string | undefined
  /** Identifier of one token: base64url of the SHA-256 of `<iss>`, a line feed and `<jti>`. */
  readonly token: string | undefined
  /** Identifier of a subject: base64url of the SHA-256 of `<iss>`, a line feed and `<sub>`. */
  readonly subject: string | undefined
  /**
   * Time of the revocation. Tokens that the subject receives after this time stay valid. Seconds since the epoch.
   * Undefined: the time at which the recipient reads the message.
   */
  readonly atSeconds: number | undefined
  /** Time after which all revoked tokens are expired. Seconds since the epoch. Undefined: unknown. */
  readonly expiresAtSeconds: number | undefined
}

/** Maximum length of a message in characters. A message with three hashes is shorter. */
const MESSAGE_LIMIT = 4_096
const NAME = /^[\x21-\x7e]{1,256}$/
/** Issuer in a message. The configuration has the same limit for the length of an issuer. */
const ISSUER = /^\S{1,2048}$/u

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

/**
 * Parses a revocation.
 * @returns undefined if the text is invalid, or if it contains no grant, token or subject.
 */
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
