import { createPublicKey, type JsonWebKey } from 'node:crypto'
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
} from 'jose'
import type { JWKS, JWTStructured, KoaContextWithOIDC } from 'oidc-provider'
import type { AuthorizationServerConfig } from '../config.ts'
import { hashId } from '../store/artifact-record.ts'

export type AccessTokenSettings = AuthorizationServerConfig['accessTokens']

/**
 * Content of a JWT access token, with the member names of the engine's model. The engine reads opaque tokens from the
 * store instead.
 */
export type AccessTokenContent = {
  readonly jti: string
  readonly iat: number
  readonly exp: number
  readonly aud: string
  readonly accountId: string
  readonly clientId: string
  readonly grantId: string
  readonly scope: string | undefined
  /** Thumbprint of the key that the token is bound to. RFC 9449 section 6.1. */
  readonly jkt: string | undefined
  /** Additional members of the introspection response. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** Reads JWT access tokens of this server. RFC 9068. */
export type JwtAccessTokens = {
  /**
   * Verifies a JWT with the keys of this server. Does not check whether the grant, the account and the client still
   * exist.
   * @param options.expiredSeconds accepts a token that expired within this time. Default: 0.
   * @returns undefined for every token that this server did not issue, or that has expired.
   * @throws {TypeError} when a signing key is not usable.
   */
  read(jwt: string, options?: { readonly expiredSeconds: number }): Promise<AccessTokenContent | undefined>
}

/** `typ` of JWT access tokens. RFC 9068 section 2.1. */
const TYPE = 'at+jwt'
const ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519']

/** Returns whether the engine treats a token as a JWT: its first part is a JSON object. */
export function isJwt(token: string): boolean {
  try {
    decodeProtectedHeader(token)
    return true
  } catch {
    return false
  }
}

/** Creates a reader of the JWT access tokens that are signed with `signingKeys`. Stores nothing. */
export function createJwtAccessTokens(options: {
  readonly issuer: string
  readonly resources: readonly string[]
  readonly signingKeys: JWKS
  readonly nowSeconds: () => number
}): JwtAccessTokens {
  const { issuer, resources, nowSeconds } = options
  let keys: Promise<ReturnType<typeof createLocalJWKSet>> | undefined
  const audience = [...resources]

  return {
    async read(jwt, { expiredSeconds } = { expiredSeconds: 0 }) {
      keys ??= publicKeys(options.signingKeys).then((all) => createLocalJWKSet({ keys: all }))
      const keySet = await keys // outside of `try`: a defect of the keys must never make a token inactive
      try {
        const { payload } = await jwtVerify(jwt, keySet, {
          issuer,
          audience,
          typ: TYPE,
          algorithms: ALGORITHMS,
          clockTolerance: expiredSeconds,
          currentDate: new Date(nowSeconds() * 1_000),
        })
        return toContent(payload)
      } catch (error) {
        // jose throws a TypeError for some malformed tokens.
        if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
        throw error
      }
    },
  }
}

/** Returns the public keys. Each key has the `kid` that the engine writes in tokens. Default `kid`: the thumbprint. */
function publicKeys({ keys }: JWKS) {
  return Promise.all(
    keys.map(async (key) => {
      const { kty, ...members } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).export({
        format: 'jwk',
      })
      const publicKey = { ...members, kty: String(kty), ...(key.alg === undefined ? {} : { alg: key.alg }) }
      return { ...publicKey, kid: key.kid ?? (await calculateJwkThumbprint(publicKey)) }
    }),
  )
}

/** Claims of a JWT that introspection responses contain unmodified. */
const EXTRA_CLAIMS = ['grant', 'auth_time', 'acr', 'amr', 'groups', 'roles', 'name', 'email'] as const

/** @returns undefined when a required claim is missing, or when `grant` is not the hash of the grant id in `jti`. */
function toContent(payload: JWTPayload): AccessTokenContent | undefined {
  const { jti, iat, exp, aud, sub, client_id: clientId, scope, grant } = payload
  const grantId = jti?.slice(0, jti.lastIndexOf('.'))
  if (jti === undefined || iat === undefined || exp === undefined || sub === undefined) return undefined
  if (typeof aud !== 'string' || typeof clientId !== 'string') return undefined
  if (grantId === undefined || hashId(grantId) !== grant) return undefined
  return {
    jti,
    iat,
    exp,
    aud,
    accountId: sub,
    clientId,
    grantId,
    scope: typeof scope === 'string' ? scope : undefined,
    jkt: (payload['cnf'] as { readonly jkt?: string } | undefined)?.jkt,
    extra: withoutMissing(Object.fromEntries(EXTRA_CLAIMS.map((name) => [name, payload[name]]))),
  }
}

/**
 * Completes the claims of a JWT access token before the engine signs the token. `jti` contains the id of the grant, so
 * that the server finds the grant without storing the token. The id of a grant gives no access.
 */
export function completeJwt(_ctx: KoaContextWithOIDC, token: object, { payload }: JWTStructured): void {
  const grantId = 'grantId' in token ? token.grantId : ''
  payload['jti'] = `${grantId}.${payload['jti']}`
}

/**
 * Returns the claims that this server adds to the claims of the engine, for JWTs and for opaque tokens. `auth_time`,
 * `acr` and `amr` describe the sign-in: RFC 9068 section 2.2.1, RFC 9470 section 6.2. The other claims describe the
 * account.
 */
export function extraClaims(
  ctx: KoaContextWithOIDC,
  token: { readonly grantId: string; readonly scope?: string | undefined },
): Record<string, unknown> {
  const { AuthorizationCode, RefreshToken, Account } = ctx.oidc.entities
  const { authTime, acr, amr } = AuthorizationCode ?? RefreshToken ?? {}
  const { groups, roles, name, email } = (Account?.['tokenClaims'] ?? {}) as TokenClaims
  const scopes = new Set(token.scope?.split(' '))
  return withoutMissing({
    grant: hashId(token.grantId),
    auth_time: authTime,
    acr,
    amr,
    groups: withinLimit(groups),
    roles: withinLimit(roles),
    name: scopes.has('profile') ? name : undefined,
    email: scopes.has('email') ? email : undefined,
  })
}

/** Data of an account for its access tokens. */
export type TokenClaims = {
  readonly name?: string
  readonly email?: string | undefined
  readonly groups?: readonly string[]
  readonly roles?: readonly string[]
}

/**
 * Maximum length of the JSON of a claim with groups or roles. A longer claim is left out, because gateways accept tokens
 * and introspection responses of limited length. Conditions on the claim then fail. Bytes.
 */
const MAX_CLAIM_BYTES = 2_048

function withinLimit(names: readonly string[] | undefined): readonly string[] | undefined {
  return names !== undefined && Buffer.byteLength(JSON.stringify(names)) <= MAX_CLAIM_BYTES
    ? names
    : undefined
}

export function formatOf(resource: string, { format, resources }: AccessTokenSettings): 'opaque' | 'jwt' {
  return resources.get(resource) ?? format
}

/**
 * Returns the name of the signature algorithm of JWT access tokens. `Ed25519` and `EdDSA` are two names of one
 * algorithm (RFC 9864 section 2.2). The `alg` of the first Ed25519 key determines the name.
 */
export function signingAlgorithm(
  { algorithm }: AccessTokenSettings,
  { keys }: JWKS,
): 'ES256' | 'EdDSA' | 'Ed25519' {
  if (algorithm === 'ES256') return algorithm
  const key = keys.find(({ crv }) => crv === 'Ed25519')
  return key?.alg === 'Ed25519' ? 'Ed25519' : 'EdDSA'
}

function withoutMissing(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
