import {
  constants,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
  type SigningOptions,
  sign,
  verify,
} from 'node:crypto'
import type { DPOP_ALGORITHMS } from '../../../oauth/dpop/algorithms.ts'
import { parseJsonObject } from '../../../oauth/jwt/parse-json-object.ts'
import { thumbprintOf } from '../../../oauth/jwt/thumbprint.ts'
import { type SecretFile, unusableCredential } from './secret-credential.ts'

/** How the gateway authenticates at a token endpoint with a private key. RFC 7523 section 2.2. */
export type PrivateKeyJwt = {
  /** The issuer identifier of the authorization server, which is the only audience. RFC 10070. */
  readonly issuer: string
  /** Undefined: `kid` of the JWK, or the thumbprint of the key. */
  readonly keyId: string | undefined
  /** Undefined: `alg` of the JWK, or the first algorithm for the kind of key. */
  readonly algorithm: SigningAlgorithm | undefined
}

type SigningAlgorithm = (typeof DPOP_ALGORITHMS)[number]

type ClientKey = {
  readonly key: KeyObject
  readonly keyId: string
  readonly algorithm: SigningAlgorithm
  /** The public part of the JWK. With a PEM file, the public part of the key. */
  readonly publicKey: KeyObject
}

/** The server rejects an assertion after this time. Seconds. */
const LIFETIME_SECONDS = 60
/** With a shorter key, others could create assertions. RFC 7518 section 3.3. */
const MIN_RSA_BITS = 2_048
/** RFC 10070: with an explicit type, no server accepts another JWT of the client as client authentication. */
const TYPE = 'client-authentication+jwt'
const HINT =
  'use a private key in PEM or as a JWK, without a password: P-256, P-384, Ed25519 or RSA of at least 2048 bits'

/**
 * Returns the text of a key file after its validation.
 * @throws {ConfigError} C315 when the text contains no usable private key. The message contains no part of the text.
 */
export function parseClientKey(text: string, from: SecretFile, settings: PrivateKeyJwt): string {
  const read = readClientKey(text, settings)
  if (typeof read === 'string') throw unusableCredential(read, from, HINT)
  if (!signsForPublicKey(read))
    throw unusableCredential(
      'the private part of the key does not belong to its public part',
      from,
      'write the complete key, as it was generated, to the file',
    )
  return text
}

/**
 * Returns whether the public part of the key verifies a signature of the private part. Otherwise, the server would
 * reject each assertion, because a client registers the public part.
 */
function signsForPublicKey(read: ClientKey): boolean {
  const input = Buffer.from('self-check')
  const { digest, options } = signatureParameters(read.algorithm)
  try {
    return verify(digest, input, { ...options, key: read.publicKey }, signatureOf(read, input))
  } catch {
    // The library does not sign with a key whose parts contradict each other.
    return false
  }
}

/**
 * Creates an assertion with which a client authenticates. Source: RFC 7521 section 4.2, RFC 7523 section 3, RFC 10070.
 * @param keyText the content of the key file.
 */
export function createClientAssertion(
  keyText: string,
  settings: PrivateKeyJwt & { readonly clientId: string; readonly nowMs: number },
): string {
  const read = readClientKey(keyText, settings)
  if (typeof read === 'string') throw new Error(read)
  const issuedAt = Math.floor(settings.nowMs / 1_000)
  const header = { alg: read.algorithm, typ: TYPE, kid: read.keyId }
  const claims = {
    iss: settings.clientId,
    sub: settings.clientId,
    aud: settings.issuer,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    jti: randomUUID(),
  }
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${input}.${signatureOf(read, Buffer.from(input)).toString('base64url')}`
}

function signatureOf({ key, algorithm }: ClientKey, input: Buffer): Buffer {
  const { digest, options } = signatureParameters(algorithm)
  return sign(digest, input, { ...options, key })
}

/** RFC 7518 section 3.1, RFC 8037 section 3.1. */
function signatureParameters(algorithm: SigningAlgorithm): {
  readonly digest: string | null
  readonly options: SigningOptions
} {
  if (algorithm.startsWith('Ed')) return { digest: null, options: {} }
  const digest = `sha${algorithm.slice(2)}`
  if (!algorithm.startsWith('PS')) return { digest, options: { dsaEncoding: 'ieee-p1363' } }
  const padding = constants.RSA_PKCS1_PSS_PADDING
  return { digest, options: { padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } }
}

/** @returns the key, or the reason why it is not usable. */
function readClientKey(text: string, settings: PrivateKeyJwt): ClientKey | string {
  const isJwk = text.trimStart().startsWith('{')
  const jwk = isJwk ? Object.fromEntries(parseJsonObject(text) ?? []) : {}
  const keys = importKeys(isJwk ? jwk : text)
  if (keys === undefined) return 'the file contains no unencrypted private key'
  const { key } = keys
  if (jwk['use'] !== undefined && jwk['use'] !== 'sig') return '`use` of the JWK must be sig'
  const operations = jwk['key_ops'] ?? ['sign']
  if (!Array.isArray(operations) || !operations.includes('sign'))
    return '`key_ops` of the JWK must contain sign'
  const algorithms = algorithmsFor(key)
  const [first] = algorithms
  if (first === undefined) return 'the gateway does not support this kind of key'
  const wanted = settings.algorithm ?? jwk['alg'] ?? first
  const algorithm = algorithms.find((one) => one === wanted)
  if (algorithm === undefined) return 'the key does not fit its algorithm'
  const named = settings.keyId ?? jwk['kid']
  const keyId = typeof named === 'string' ? named : thumbprintOf(publicJwkOf(key))
  return { ...keys, keyId, algorithm }
}

function importKeys(from: string | JsonWebKey): Pick<ClientKey, 'key' | 'publicKey'> | undefined {
  try {
    if (typeof from === 'string') return { key: createPrivateKey(from), publicKey: createPublicKey(from) }
    const { d: _, ...publicPart } = from
    return {
      key: createPrivateKey({ key: from, format: 'jwk' }),
      // With `d`, the library computes the public part of an Ed25519 key from `d`.
      publicKey: createPublicKey({ key: publicPart, format: 'jwk' }),
    }
  } catch {
    // The error message of the library may quote the key.
    return undefined
  }
}

function publicJwkOf(
  key: KeyObject,
): ReturnType<KeyObject['export']> & { readonly kty?: string; crv?: string } {
  return createPublicKey(key).export({ format: 'jwk' })
}

/** Returns the algorithms for a kind of key. The default is the first. */
function algorithmsFor(key: KeyObject): readonly SigningAlgorithm[] {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType === 'rsa') return bits < MIN_RSA_BITS ? [] : ['RS256', 'PS256']
  if (key.asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519']
  const curves: Readonly<Record<string, readonly SigningAlgorithm[]>> = {
    prime256v1: ['ES256'],
    secp384r1: ['ES384'],
  }
  return curves[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? []
}
