import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Caller } from '../families/family.ts'
import type { Problem } from './problem.ts'

/** Returns the caller of an assertion, or the reason to reject the assertion. */
export type AssertionVerifier = (
  assertion: string,
) => Promise<{ readonly caller: Caller | undefined } | { readonly rejected: Problem }>

/** Tolerated difference between the clocks of gateway and service. Seconds. */
const CLOCK_TOLERANCE_SECONDS = 5
const MAX_AGE_SECONDS = 60
/** After an unknown key ID, the service fetches the keys again only after this time. Milliseconds. */
const ASK_AGAIN_AFTER_MS = 5_000

/**
 * Creates a function that verifies the JWT in `x-auth-assertion`. The function checks signature, type, issuer, audience
 * and times. The function fetches and caches the keys on demand. Source: RFC 7519 section 7.2, RFC 8725 section 3.
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
      return { rejected: isItsFault(error) ? REJECTED : NO_KEYS }
    }
  }
}

const REJECTED: Problem = {
  code: 'invalid_assertion',
  description: 'The x-auth-assertion header is invalid.',
}
const NO_KEYS: Problem = {
  code: 'temporarily_unavailable',
  description: 'The service cannot verify the caller at the moment. Try again in a second.',
}

/** Returns whether the assertion is invalid. Returns false if the service could not fetch the keys. */
function isItsFault(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return false
  return !(
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  )
}

function toCaller(payload: JWTPayload): Caller | undefined {
  const { sub, client_id: clientId, scope } = payload
  if (sub === undefined) return undefined
  return {
    subject: sub,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    scopes: typeof scope === 'string' ? scope.split(' ').filter((one) => one !== '') : [],
  }
}
