import { isSignedBy } from '../jwt/is-signed-by.ts'
import type { IssuerKeys } from '../jwt/issuer-keys.ts'
import { readCompactJwt } from '../jwt/read-compact-jwt.ts'
import { IntrospectionError } from './introspection-error.ts'

export type SignedIntrospectionRules = {
  readonly issuer: string
  /** The `client_id` of the gateway at this issuer. */
  readonly audience: string
  readonly algorithms: ReadonlySet<string>
  readonly keys: Pick<IssuerKeys, 'lookUp'>
  readonly nowSeconds: () => number
}

/**
 * Maximum difference between `iat` and the gateway's clock. The issuer creates a response for each request. Seconds.
 */
const TOLERANCE_SECONDS = 60

/**
 * Extracts the introspection response from a JWT that the issuer signed. The response has its own `typ`. The gateway
 * therefore never accepts an access token as a response, or a response as an access token.
 * Source: RFC 9701 section 5.
 * @throws {IntrospectionError} ERR_INTROSPECTION_RESPONSE, by rejection.
 * @throws {UnverifiableError} by rejection, when the issuer's keys are unavailable.
 */
export async function readSignedIntrospection(
  text: string,
  rules: SignedIntrospectionRules,
): Promise<unknown> {
  const jwt = readCompactJwt(text)
  if (typeof jwt === 'string') throw unusable('it is not a signed JWT')
  if (jwt.type !== 'token-introspection+jwt') throw unusable('its typ is not token-introspection+jwt')
  if (!rules.algorithms.has(jwt.algorithm)) throw unusable('its algorithm is not allowed')
  if (jwt.issuer !== rules.issuer) throw unusable('its iss is not the issuer')
  const key = await rules.keys.lookUp(jwt.keyId, jwt.algorithm)
  if (key === undefined || !(await isSignedBy(jwt, key)))
    throw unusable('no published key of the issuer verifies its signature')
  const audience = jwt.claims.get('aud')
  const isForUs = Array.isArray(audience) ? audience.includes(rules.audience) : audience === rules.audience
  if (!isForUs) throw unusable('its aud does not name the client_id of the gateway')
  const issuedAt = jwt.claims.get('iat')
  if (typeof issuedAt !== 'number' || Math.abs(rules.nowSeconds() - issuedAt) > TOLERANCE_SECONDS)
    throw unusable('its iat is not within 60 s of server time')
  return jwt.claims.get('token_introspection')
}

function unusable(why: string): IntrospectionError {
  return new IntrospectionError(
    'ERR_INTROSPECTION_RESPONSE',
    `The issuer's signed introspection response is not usable: ${why}.`,
  )
}
