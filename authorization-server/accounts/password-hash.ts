import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** Cost of a password hash: memory in KiB, passes over the memory, lanes. */
type PasswordCost = { readonly memoryKib: number; readonly passes: number; readonly lanes: number }

/**
 * Parameters of the OWASP password storage cheat sheet: the argon2id row with 19 MiB. A hash takes about 70 ms on one
 * core.
 */
const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, passes: 2, lanes: 1 }

/** The minimum cost. Sufficient for a published password, because no hash protects a published password. */
export const MINIMUM_COST: PasswordCost = { memoryKib: 8, passes: 1, lanes: 1 }

const SALT_BYTES = 16
const HASH_BYTES = 32
const VERSION = 19 // 0x13, the only version that node:crypto writes
const MAX_MEMORY_KIB = 1_048_576 // 1 GiB: bounds the memory that a stored hash can request

const derive = promisify(argon2)

/**
 * Hashes a password with argon2id into a PHC string, which contains the parameters and the hash.
 * Source: RFC 9106; PHC string format.
 * @param salt at least 16 random bytes, new for every hash.
 */
export async function hashPassword(password: string, salt: Buffer, cost = PASSWORD_COST): Promise<string> {
  return formatPhc(cost, salt, await deriveKey(password, salt, cost, HASH_BYTES))
}

/**
 * Returns a random PHC string that no password matches. Its verification takes as long as the verification of a new
 * hash.
 */
export function unmatchableHash(): string {
  return formatPhc(PASSWORD_COST, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES))
}

function formatPhc({ memoryKib, passes, lanes }: PasswordCost, salt: Buffer, key: Buffer): string {
  return `$argon2id$v=${VERSION}$m=${memoryKib},t=${passes},p=${lanes}$${encode(salt)}$${encode(key)}`
}

/**
 * Compares a password with a PHC string in constant time. An unreadable PHC string matches no password.
 * @returns `outdated` when the password matches, but the parameters of the hash differ from {@link PASSWORD_COST}.
 */
export async function verifyPassword(
  password: string,
  phc: string,
): Promise<'match' | 'outdated' | 'mismatch'> {
  const stored = parsePhc(phc)
  if (stored === undefined) return 'mismatch'
  const key = await deriveKey(password, stored.salt, stored.cost, stored.key.length)
  if (!timingSafeEqual(key, stored.key)) return 'mismatch'
  const { memoryKib, passes, lanes } = stored.cost
  const today =
    memoryKib === PASSWORD_COST.memoryKib && passes === PASSWORD_COST.passes && lanes === PASSWORD_COST.lanes
  return today ? 'match' : 'outdated'
}

async function deriveKey(
  password: string,
  salt: Buffer,
  cost: PasswordCost,
  length: number,
): Promise<Buffer> {
  return derive('argon2id', {
    message: password.normalize('NFKC'), // keyboards can encode the same character as different code points
    nonce: salt,
    memory: cost.memoryKib,
    passes: cost.passes,
    parallelism: cost.lanes,
    tagLength: length,
  })
}

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{22,86})\$([A-Za-z0-9+/]{22,86})$/

function parsePhc(
  phc: string,
): { readonly cost: PasswordCost; readonly salt: Buffer; readonly key: Buffer } | undefined {
  const [, memory, passes, lanes, salt, key] = PHC.exec(phc) ?? []
  if (salt === undefined || key === undefined) return undefined
  const cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) }
  if (cost.memoryKib > MAX_MEMORY_KIB || cost.passes < 1 || cost.lanes < 1) return undefined
  if (cost.memoryKib < 8 * cost.lanes) return undefined
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') }
}

/** PHC strings use base64 without padding. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
