import { generateKeyPair, type JsonWebKey } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { createFileOnce, readSecretFile } from './create-file-once.ts'

/** A private signing key. Source: RFC 7517 section 4. */
export type SigningKey = JsonWebKey & {
  readonly kty: string
  readonly kid?: string
  readonly alg?: string
  /** Time from which the key signs, in seconds since the epoch. Before this time, the server only publishes the key. */
  readonly notBefore?: number
}

/**
 * Private JWK Set. The first key of a type signs. A key with `notBefore` replaces the first key at the time in
 * `notBefore`.
 */
export type SigningKeys = { readonly keys: readonly SigningKey[] }

const generate = promisify(generateKeyPair)

const RSA_BITS = 2048 // RFC 7518 section 3.3: a key of 2048 bits or larger

/**
 * Reads the configured file. Default: `signing-keys.json` in the data folder, which the function creates on the first
 * start.
 * @throws {BootError} ERR_SECRET_FILE, ERR_DATA_DIR, ERR_SIGNING_KEYS.
 */
export async function loadSigningKeys(options: {
  readonly signingKeysFile: string | undefined
  readonly dataDir: string
  readonly accessTokens?: { readonly algorithm: 'ES256' | 'EdDSA' }
}): Promise<SigningKeys> {
  const { algorithm } = options.accessTokens ?? {}
  if (options.signingKeysFile !== undefined) {
    const text = await readSecretFile(options.signingKeysFile, 'signingKeysFile')
    return parseSigningKeys(text, options.signingKeysFile, algorithm)
  }
  const file = join(options.dataDir, 'signing-keys.json')
  const text = await createFileOnce(file, async () => `${JSON.stringify(await makeSigningKeys())}\n`)
  return parseSigningKeys(text, file, algorithm)
}

/**
 * Generates a key set: ES256 first, then Ed25519, then RS256, which OpenID Connect Discovery 1.0 section 3 requires as
 * a supported algorithm.
 */
export async function makeSigningKeys(): Promise<SigningKeys> {
  const [ec, ed, rsa] = await Promise.all([
    generate('ec', { namedCurve: 'P-256' }),
    generate('ed25519'),
    generate('rsa', { modulusLength: RSA_BITS }),
  ])
  const use = 'sig'
  return {
    keys: [
      { ...jwk(ec.privateKey.export({ format: 'jwk' })), alg: 'ES256', use },
      { ...jwk(ed.privateKey.export({ format: 'jwk' })), alg: 'Ed25519', use },
      { ...jwk(rsa.privateKey.export({ format: 'jwk' })), alg: 'RS256', use },
    ],
  }
}

/**
 * Parses a private JWK Set.
 * @param algorithm signature algorithm of JWT access tokens. Default: ES256.
 * @throws {BootError} ERR_SIGNING_KEYS when the text is not a JWK Set. The set must contain an ES256 key, an RS256 key,
 * and a key for `algorithm`.
 */
export function parseSigningKeys(
  text: string,
  file: string,
  algorithm: 'ES256' | 'EdDSA' = 'ES256',
): SigningKeys {
  const invalidFile = (reason: string) =>
    new BootError(
      'ERR_SIGNING_KEYS',
      `${file}: ${reason}. It must be a JSON Web Key Set with private keys: {"keys":[…]}. To generate keys, remove signingKeysFile.`,
      { exitCode: 3 },
    )
  const document = parseJson(text)
  const keys = isRecord(document) ? document['keys'] : undefined
  if (!Array.isArray(keys) || keys.length === 0) throw invalidFile('the keys are missing')
  const signingKeys = keys.map((key: unknown, index) => {
    if (!isRecord(key) || typeof key['kty'] !== 'string') throw invalidFile(`keys[${index}] is not a key`)
    if (typeof key['d'] !== 'string') throw invalidFile(`keys[${index}] has no private part`)
    if (key['notBefore'] !== undefined && !Number.isSafeInteger(key['notBefore']))
      throw invalidFile(`keys[${index}].notBefore is not a whole number of seconds since 1970`)
    return key as unknown as SigningKey
  })
  if (!signingKeys.some((key) => key.kty === 'EC' && key.crv === 'P-256'))
    throw invalidFile('a P-256 key for ES256 is missing')
  if (!signingKeys.some((key) => key.kty === 'RSA')) throw invalidFile('an RSA key for RS256 is missing')
  if (algorithm === 'EdDSA' && !signingKeys.some((key) => key.crv === 'Ed25519'))
    throw invalidFile('an Ed25519 key for accessTokens.algorithm is missing')
  return { keys: signingKeys }
}

/**
 * Returns the keys in the order in which the engine selects them, without `notBefore`.
 * Among the keys that may sign now, the latest `notBefore` comes first. Keys whose `notBefore` is in the future come
 * last: the server only publishes them.
 * @returns the keys, and the next time at which the order changes.
 */
export function activeKeys(
  { keys }: SigningKeys,
  nowSeconds: number,
): { readonly keys: readonly SigningKey[]; readonly changesAtSeconds: number | undefined } {
  const startOf = (key: SigningKey): number => key.notBefore ?? Number.NEGATIVE_INFINITY
  const later = keys.filter((key) => startOf(key) > nowSeconds).toSorted((a, b) => startOf(a) - startOf(b))
  const active = keys
    .filter((key) => startOf(key) <= nowSeconds)
    .toSorted((a, b) => (startOf(a) === startOf(b) ? 0 : startOf(b) - startOf(a)))
  return {
    keys: [...active, ...later].map(({ notBefore, ...key }) => key),
    changesAtSeconds: later[0]?.notBefore,
  }
}

function jwk(key: JsonWebKey): SigningKey {
  if (key.kty === undefined) throw new TypeError('a JWK without kty')
  return { ...key, kty: key.kty }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
