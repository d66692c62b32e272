import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Asker } from '../families/family.ts'
import type { Problem } from './problem.ts'

/** Tells who an assertion is about, or why it proves nothing. */
export type AssertionVerifier = (
  assertion: string,
) => Promise<{ readonly caller: Asker | undefined } | { readonly refused: Problem }>

/** The gateway's clock and ours may differ by this. Seconds. */
const CLOCK_TOLERANCE_SECONDS = 5
/** The gateway signs for a minute at most. Seconds. */
const MAX_AGE_SECONDS = 60
/** A key that is not known is looked for at most this often. Milliseconds. */
const ASK_AGAIN_AFTER_MS = 5_000

/**
 * Verifies the JWT that the gateway sends in `x-auth-assertion`: signature, type, issuer, audience and times.
 * The keys are fetched when they are needed and kept.
 * Source: RFC 7519 section 7.2, RFC 8725 section 3.
 */
export function createAssertionVerifier(gateway: {
  readonly keysUrl: URL
  readonly issuer: string
  readonly audiences: readonly string[]
}): AssertionVerifier {
  const keys = createRemoteJWKSet(gateway.keysUrl, { cooldownDuration: ASK_AGAIN_AFTER_MS })
  const rules = {
    issuer: gateway.issuer,
    audience: [...gateway.audiences],
    typ: 'scopegate-assertion+jwt',
    algorithms: ['ES256', 'EdDSA'],
    requiredClaims: ['exp', 'iat', 'jti'],
    maxTokenAge: MAX_AGE_SECONDS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  }
  return async (assertion) => {
    try {
      const { payload } = await jwtVerify(assertion, keys, rules)
      return { caller: toCaller(payload) }
    } catch (error) {
      return { refused: isItsFault(error) ? REFUSED : NO_KEYS }
    }
  }
}

const REFUSED: Problem = { code: 'invalid_assertion', description: 'x-auth-assertion proves nothing here.' }
const NO_KEYS: Problem = {
  code: 'temporarily_unavailable',
  description: 'Who calls can not be checked right now. Try again in a second.',
}

/** What is wrong with the assertion itself, against keys that could not be had. */
function isItsFault(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return false
  return !(
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  )
}

function toCaller(payload: JWTPayload): Asker | undefined {
  const { sub, client_id: clientId, scope } = payload
  if (sub === undefined) return undefined
  return {
    subject: sub,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    scopes: typeof scope === 'string' ? scope.split(' ').filter((one) => one !== '') : [],
  }
}
