import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import { ConfigError } from '../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'

export type AssertionKey = {
  /** RFC 7638 thumbprint: the same key has the same ID in every process. */
  readonly kid: string
  readonly alg: 'ES256' | 'EdDSA'
  readonly privateKey: KeyObject
  /** The key as a JWK, with public members only. RFC 7517 section 4. */
  readonly publicJwk: Readonly<Record<string, string>>
}

/**
 * Creates an assertion key from a private key. A P-256 key signs with ES256 (RFC 7518 section 3.4), an Ed25519 key with
 * EdDSA (RFC 8037 section 3.1).
 * @returns undefined for any other kind of key.
 */
export function toAssertionKey(privateKey: KeyObject): AssertionKey | undefined {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  // RFC 7638 section 3.2: the required members, in lexicographic order. No other member is copied, so no private member
  // can leak.
  const members: Record<string, string> | undefined =
    kty === 'EC' && crv === 'P-256' && x !== undefined && y !== undefined
      ? { crv, kty, x, y }
      : kty === 'OKP' && crv === 'Ed25519' && x !== undefined
        ? { crv, kty, x }
        : undefined
  if (members === undefined) return undefined
  const kid = hash('sha256', JSON.stringify(members), 'base64url')
  const alg = kty === 'EC' ? 'ES256' : 'EdDSA'
  return Object.freeze({
    kid,
    alg,
    privateKey,
    publicJwk: Object.freeze({ ...members, kid, alg, use: 'sig' }),
  })
}

/** Generates a P-256 private key in PEM. Several processes share the key in this form. */
export function generatePrivateKey(): string {
  return String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )
}

/** Creates an assertion key from a private key in PEM. Default: a new P-256 key that exists only in memory. */
export function generateAssertionKey(pem = generatePrivateKey()): AssertionKey {
  const key = toAssertionKey(createPrivateKey(pem))
  if (key === undefined) throw new Error('the key must be a P-256 key')
  return key
}

const PEM = /-----BEGIN ((?:EC )?PRIVATE KEY)-----[\s\S]+?-----END \1-----/g

/**
 * Reads the private keys of `assertion.keyFile`: one or more, in PEM (RFC 7468). The first key signs.
 * @throws {ConfigError} C306. The message contains nothing from the file.
 */
export function readAssertionKeys(file: string): readonly AssertionKey[] {
  const read = readTextFile(file, { shownAs: displayPath(file), letter: 'C' })
  if ('problem' in read) throw unreadableKeys(file, read.problem.message)
  return parseAssertionKeys(read.text, file)
}

/**
 * Parses the content of `assertion.keyFile`.
 * @throws {ConfigError} C306. The message contains nothing from the file.
 */
export function parseAssertionKeys(text: string, file: string): readonly AssertionKey[] {
  const blocks = [...text.matchAll(PEM)].map(([block]) => block)
  if (blocks.length === 0) throw unusableKeys(file, 'the file must contain an unencrypted private key in PEM')
  return blocks.map((block, index) => {
    const key = readKey(block)
    if (key === undefined)
      throw unusableKeys(file, `key ${index + 1} of the file is not a usable P-256 or Ed25519 key`)
    return key
  })
}

const CREATE = 'create a key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256'
const READABLE = 'set assertion.keyFile to a PEM file that the user of this process may read'

/** Returns the error for a key file that cannot be read. */
export function unreadableKeys(file: string, why: string): ConfigError {
  return unusableKeys(file, why, READABLE)
}

/** `why` contains nothing from the file. */
function unusableKeys(file: string, why: string, hint = CREATE): ConfigError {
  return new ConfigError([
    diagnostic('C306', `assertion.keyFile has no usable signing key: ${why}`, wholeFile(displayPath(file)), {
      hint,
    }),
  ])
}

function readKey(pem: string): AssertionKey | undefined {
  try {
    return toAssertionKey(createPrivateKey(pem))
  } catch {
    // The error message of the library may quote the key.
    return undefined
  }
}
