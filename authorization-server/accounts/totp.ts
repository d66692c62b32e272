import { createHmac, timingSafeEqual } from 'node:crypto'

/** Length of a time step. Authenticator apps support only this value reliably. Seconds. */
export const STEP_SECONDS = 30
const DIGITS = 6
/**
 * The codes of this number of steps before and after the current step are also valid, because the clocks of devices and
 * servers differ. RFC 6238 section 5.2.
 */
const DRIFT_STEPS = 1
/** A secret has the length of a SHA-1 hash. RFC 4226 section 4, requirement R6. */
export const TOTP_SECRET_BYTES = 20

/**
 * Verifies a time-based one-time password with SHA-1, 6 digits and steps of 30 s. Source: RFC 6238.
 * @param options.lastStep the step of the last used code. Codes of this step and of earlier steps are not valid.
 * @returns the step of the code, or undefined for an invalid code. The caller stores the step, so that each code is
 * valid only once.
 */
export function verifyTotp(options: {
  readonly secret: Buffer
  readonly code: string
  readonly lastStep: number | undefined
  readonly nowSeconds: number
}): number | undefined {
  const { secret, lastStep = -1, nowSeconds } = options
  const code = options.code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(code)) return undefined
  const current = Math.floor(nowSeconds / STEP_SECONDS)
  let found: number | undefined
  for (let step = current - DRIFT_STEPS; step <= current + DRIFT_STEPS; step++)
    if (timingSafeEqual(Buffer.from(code), Buffer.from(codeAt(secret, step))) && step > lastStep)
      found ??= step
  return found
}

/** Returns the code of a time step. RFC 4226 section 5.3. */
export function codeAt(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.max(0, step)))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns the text that a person types into an authenticator app. Base32 without padding: RFC 4648 section 6. */
export function encodeTotpSecret(secret: Buffer): string {
  const bits = [...secret].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((part) => BASE32[Number.parseInt(part.padEnd(5, '0'), 2)]).join('')
}

/** Authenticator apps open an otpauth: link. */
export function totpLink(options: {
  readonly secret: Buffer
  readonly serviceName: string
  readonly username: string
}): string {
  const issuer = encodeURIComponent(options.serviceName)
  const secret = encodeTotpSecret(options.secret)
  return `otpauth://totp/${issuer}:${encodeURIComponent(options.username)}?secret=${secret}&issuer=${issuer}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`
}
