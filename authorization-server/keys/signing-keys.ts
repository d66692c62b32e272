import { generateKeyPair, type JsonWebKey } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { thumbprintOf } from '../../oauth/jwt/thumbprint.ts'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { visibleText } from '../../platform/diagnostics/visible-text.ts'
import { createFileOnce, readSecretFile } from './create-file-once.ts'
import { findKeyFault } from './find-key-fault.ts'

/** A private signing key. Source: RFC 7517 section 4. */
export type SigningKey = JsonWebKey & {
  readonly kty: string
  readonly kid?: string
  readonly alg?: string
  /** Time from which the key signs, in seconds since the epoch. Before this time, the server only publishes the key. */
  readonly notBefore?: number
  /**
   * Earliest time at which `scopegate keys retire` removes the key without `--force`, in seconds since the epoch. The
   * server ignores this time.
   */
  readonly retireAfter?: number
}

/**
 * Private JWK Set. The first key of a type signs. A key with `notBefore` replaces the first key at the time in
 * `notBefore`.
 */
export type SigningKeys = { readonly keys: readonly SigningKey[] }

const generate = promisify(generateKeyPair)

const RSA_BITS = 2048 // RFC 7518 section 3.3: a key of 2048 bits or larger

/**
 * Reads the signing keys. Without `signingKeysFile`, reads `signing-keys.json` in the data folder, which the function
 * creates on the first start.
 * @throws {BootError} ERR_SECRET_FILE, ERR_DATA_DIR, ERR_SIGNING_KEYS.
 */
export async function loadSigningKeys(options: {
  readonly signingKeysFile: string | undefined
  readonly dataDir: string
  readonly accessTokens?: { readonly algorithm: 'ES256' | 'EdDSA' }
}): Promise<SigningKeys> {
  const needs = { algorithm: options.accessTokens?.algorithm, nowSeconds: Math.floor(Date.now() / 1_000) }
  if (options.signingKeysFile !== undefined) {
    const text = await readSecretFile(options.signingKeysFile, 'signingKeysFile')
    return parseSigningKeys(text, options.signingKeysFile, needs)
  }
  const file = join(options.dataDir, 'signing-keys.json')
  const text = await createFileOnce(file, async () => `${JSON.stringify(await makeSigningKeys())}\n`)
  return parseSigningKeys(text, file, needs)
}

/**
 * Generates a key set: ES256 first, then Ed25519, then RS256, which OpenID Connect Discovery 1.0 section 3 requires as
 * a supported algorithm.
 */
export async function makeSigningKeys(): Promise<SigningKeys> {
  return { keys: await Promise.all(GENERATED_ALGORITHMS.map(makeSigningKey)) }
}

export const GENERATED_ALGORITHMS = ['ES256', 'Ed25519', 'RS256'] as const

/** Generates a private key. Its `kid` is its thumbprint. */
export async function makeSigningKey(alg: (typeof GENERATED_ALGORITHMS)[number]): Promise<SigningKey> {
  const { privateKey } =
    alg === 'ES256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : alg === 'RS256'
        ? await generate('rsa', { modulusLength: RSA_BITS })
        : await generate('ed25519')
  const { kty, ...members } = privateKey.export({ format: 'jwk' })
  if (kty === undefined) throw new TypeError('a JWK without kty')
  const key = { ...members, kty, alg, use: 'sig' }
  return { ...key, kid: thumbprintOf(key) }
}

/** Returns the `kid` that the server publishes for a key. Default: the thumbprint. */
export function keyId(key: SigningKey): string {
  return key.kid ?? thumbprintOf(key)
}

/** Maximum number of keys in a set. Each new `Provider` and each reload checks all keys. */
export const MAX_KEYS = 64
/**
 * From this value on, a time is in milliseconds: as seconds, the value is in the year 5138; as milliseconds, in 1973.
 */
const MILLISECONDS = 100_000_000_000

/**
 * Parses a private JWK Set. Checks each key: the key must sign, and its public part must verify the signature. A
 * message never contains key material.
 * @param needs.algorithm signature algorithm of JWT access tokens. Default: ES256.
 * @throws {BootError} ERR_SIGNING_KEYS when the text is not a JWK Set, or when a key is not usable. At least one ES256
 * key, one RS256 key, and one key for `algorithm` must be able to sign now.
 */
export function parseSigningKeys(
  text: string,
  file: string,
  needs: { readonly algorithm?: 'ES256' | 'EdDSA' | undefined; readonly nowSeconds: number },
): SigningKeys {
  const invalidFile = (
    reason: string,
    remedy = 'The file must be a JSON Web Key Set with private keys: {"keys":[…]}. To generate keys, remove signingKeysFile.',
  ) => new BootError('ERR_SIGNING_KEYS', `${file}: ${reason}. ${remedy}`, { exitCode: 3 })
  const document = parseJson(text)
  const keys = isRecord(document) ? document['keys'] : undefined
  if (!Array.isArray(keys) || keys.length === 0) throw invalidFile('the file contains no keys')
  if (keys.length > MAX_KEYS)
    throw invalidFile(`the set has ${keys.length} keys, more than ${MAX_KEYS}`, 'Remove old keys.')
  const signingKeys = keys.map((key: unknown, index) => {
    if (!isRecord(key) || typeof key['kty'] !== 'string') throw invalidFile(`keys[${index}] is not a key`)
    if (typeof key['d'] !== 'string') throw invalidFile(`keys[${index}] has no private part`)
    const { kid } = key
    if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID_LENGTH))
      throw invalidFile(`keys[${index}].kid is not a text of 1 to ${MAX_KID_LENGTH} characters`)
    for (const name of ['notBefore', 'retireAfter'])
      checkTime(key[name], `keys[${index}].${name}`, invalidFile)
    const fault = findKeyFault(key)
    if (fault !== undefined)
      throw invalidFile(`keys[${index}]${describeKid(kid)} ${fault.reason}`, fault.remedy)
    return key as unknown as SigningKey
  })
  const ids = signingKeys.map(keyId)
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index)
  if (repeated !== -1)
    throw invalidFile(
      `keys[${repeated}]${describeKid(ids[repeated])} has the kid of another key of the set`,
      'Give each key its own kid.',
    )
  const required = [
    ['a P-256 key for ES256', (key: SigningKey) => key.kty === 'EC' && key.crv === 'P-256'],
    ['an RSA key for RS256', (key: SigningKey) => key.kty === 'RSA'],
    ...(needs.algorithm === 'EdDSA'
      ? ([['an Ed25519 key for accessTokens.algorithm', (key: SigningKey) => key.crv === 'Ed25519']] as const)
      : []),
  ] as const
  for (const [name, matches] of required) {
    const all = signingKeys.filter(matches)
    if (all.length === 0) throw invalidFile(`${name} is missing`)
    if (!all.some((key) => startOf(key) <= needs.nowSeconds))
      throw invalidFile(
        `${name} that signs now is missing: every key of this type has a notBefore in the future`,
        'Keep the current signing key in the file until the notBefore of the next key.',
      )
  }
  return { keys: signingKeys }
}

const MAX_KID_LENGTH = 256

function describeKid(kid: string | undefined): string {
  return kid === undefined ? '' : ` (kid "${visibleText(kid)}")`
}

function checkTime(time: unknown, name: string, invalidFile: (reason: string) => BootError): void {
  if (time === undefined) return
  if (!Number.isSafeInteger(time)) throw invalidFile(`${name} is not a whole number of seconds since 1970`)
  if (Number(time) >= MILLISECONDS) throw invalidFile(`${name} is in milliseconds, not in seconds since 1970`)
}

/** Returns the time from which a key signs. Seconds since the epoch. */
export function startOf({ notBefore }: SigningKey): number {
  return notBefore ?? Number.NEGATIVE_INFINITY
}

/**
 * Returns the keys in the order in which the engine selects them. Removes the members that only this server uses.
 * Among the keys that may sign now, the latest `notBefore` comes first. Keys with a `notBefore` in the future come
 * last, because the server only publishes these keys. Each key has `alg`, because the engine prefers keys with `alg`.
 * @returns the keys, and the next time at which the order changes.
 */
export function activeKeys(
  { keys }: SigningKeys,
  nowSeconds: number,
): { readonly keys: readonly SigningKey[]; readonly changesAtSeconds: number | undefined } {
  const later = keys.filter((key) => startOf(key) > nowSeconds).toSorted((a, b) => startOf(a) - startOf(b))
  const active = keys
    .filter((key) => startOf(key) <= nowSeconds)
    .toSorted((a, b) => (startOf(a) === startOf(b) ? 0 : startOf(b) - startOf(a)))
  return {
    // Clients could not use a public key with `key_ops: ["sign"]`.
    keys: [...active, ...later].map(({ notBefore, retireAfter, key_ops, ext, ...key }) => ({
      ...key,
      alg: algorithmOf(key),
      use: 'sig',
    })),
    changesAtSeconds: later[0]?.notBefore,
  }
}

const DEFAULT_ALGORITHMS: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'EdDSA',
}

/** Returns the algorithm of a key. Default: the algorithm of its curve, or RS256. */
export function algorithmOf({ alg, crv = '' }: SigningKey): string {
  return alg ?? DEFAULT_ALGORITHMS[crv] ?? 'RS256'
}

/**
 * Returns the type of a key. Keys of one type replace each other. `Ed25519` and `EdDSA` are one algorithm: RFC 9864.
 */
export function keyType(key: SigningKey): string {
  return key.crv === 'Ed25519' ? key.crv : algorithmOf(key)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
