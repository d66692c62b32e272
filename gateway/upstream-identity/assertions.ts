import { randomUUID, sign } from 'node:crypto'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import type { AssertionKeyRing } from './assertion-key-ring.ts'
import { pickClaims } from './identity-claims.ts'

/** Returns the assertion about a caller for one upstream. */
export type CreateAssertion = (caller: Caller, nowMs: number) => string

/**
 * RFC 8725 section 3.11: with an explicit type, no upstream accepts another token of the same issuer as an assertion.
 */
const ASSERTION_TYPE = 'scopegate-assertion+jwt'

/**
 * Minimum remaining lifetime of a reused assertion. With less remaining time, the assertion could expire before a slow
 * upstream validates the assertion. Seconds.
 */
const RENEW_BEFORE_SECONDS = 15
/** Size of each of the two integers of an ES256 signature. RFC 7518 section 3.4. */
const P256_BYTES = 32

type Minted = { readonly text: string; readonly goodUntilSeconds: number }

/**
 * Creates assertions, which identify the caller to upstreams. An assertion is a signed JWT (RFC 7519) with `iss`,
 * `aud`, `sub`, `client_id`, `token_issuer`, `scope`, `iat`, `exp` and `jti`. If `identity.claims` is set, the member
 * `claims` has these claims of the token.
 * Each caller has one assertion per upstream, which is reused until shortly before it expires. A `WeakMap` holds the
 * assertions by caller. The assertions are therefore released together with the cached token status.
 * Cost: one signature, about 30 microseconds, when no assertion can be reused.
 * @returns a function that returns the same `CreateAssertion` for the same upstream.
 */
export function createAssertions(options: {
  /** The public URL of the gateway. */
  readonly issuer: string
  /** Lifetime of an assertion. At most 60. Seconds. */
  readonly ttlSeconds: number
  /** The setting `identity.claims`. */
  readonly claims: ClaimNames
  readonly ring: Pick<AssertionKeyRing, 'signingKey'>
}): (upstream: string) => CreateAssertion {
  const { issuer, ttlSeconds, ring } = options
  const renewBefore = Math.min(RENEW_BEFORE_SECONDS, ttlSeconds / 2)

  function mint(caller: Caller, upstream: string, nowMs: number): Minted {
    const { privateKey, alg, kid } = ring.signingKey(nowMs)
    const issuedAt = Math.floor(nowMs / 1_000)
    // The assertion expires no later than the token.
    const endsWithToken = caller.expiresAtSeconds <= issuedAt + ttlSeconds
    const expiresAt = endsWithToken ? caller.expiresAtSeconds : issuedAt + ttlSeconds
    const claims = {
      iss: issuer,
      aud: upstream,
      sub: caller.subject,
      client_id: caller.clientId,
      token_issuer: caller.issuer,
      scope: [...caller.scopes].join(' '),
      iat: issuedAt,
      exp: expiresAt,
      jti: randomUUID(),
      claims: options.claims.length === 0 ? undefined : pickClaims(caller, options.claims),
    }
    const input = `${encode({ alg, typ: ASSERTION_TYPE, kid })}.${encode(claims)}`
    const signature =
      alg === 'ES256'
        ? signatureFromDer(sign('sha256', Buffer.from(input), privateKey), P256_BYTES)
        : sign(null, Buffer.from(input), privateKey)
    return {
      text: `${input}.${signature.toString('base64url')}`,
      goodUntilSeconds: endsWithToken ? expiresAt : expiresAt - renewBefore,
    }
  }

  const byUpstream = new Map<string, CreateAssertion>()
  return (upstream) => {
    const known = byUpstream.get(upstream)
    if (known !== undefined) return known
    const minted = new WeakMap<Caller, Minted>()
    const assert: CreateAssertion = (caller, nowMs) => {
      const kept = minted.get(caller)
      if (kept !== undefined && nowMs < kept.goodUntilSeconds * 1_000) return kept.text
      const fresh = mint(caller, upstream, nowMs)
      minted.set(caller, fresh)
      return fresh.text
    }
    byUpstream.set(upstream, assert)
    return assert
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/**
 * Converts an ECDSA signature of OpenSSL from DER to the JWS form. DER is a sequence of two integers. The JWS form is
 * two concatenated integers of fixed size. OpenSSL could create the JWS form with `dsaEncoding: 'ieee-p1363'` of
 * node:crypto. But the conversion in node:crypto takes longer than the signature.
 * Source: RFC 7518 section 3.4; RFC 3279 section 2.2.3; X.690 section 8.3.
 * @param der signature created by this process, with less than 128 bytes after its head: P-256 or P-384.
 * @param size size of each integer in bytes, given by the curve.
 */
export function signatureFromDer(der: Buffer, size: number): Buffer {
  const signature = Buffer.alloc(size * 2)
  let at = SEQUENCE_HEAD_BYTES
  for (const end of [size, size * 2]) {
    const to = at + INTEGER_HEAD_BYTES + (der[at + 1] as number)
    // DER omits the leading zero bytes of a number. If the first bit of the number is then set, DER adds one zero byte.
    const from = Math.max(at + INTEGER_HEAD_BYTES, to - size)
    der.copy(signature, end - (to - from), from, to)
    at = to
  }
  return signature
}

const SEQUENCE_HEAD_BYTES = 2
const INTEGER_HEAD_BYTES = 2
