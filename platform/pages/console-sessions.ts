import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createAddressLimit } from '../net/address-limit.ts'
import { cookieValue } from './cookie-value.ts'

/** The credential of operators. The tokens can change while the service runs. */
export type ConsoleCredential = {
  /** Returns the accepted tokens. */
  tokens(): readonly string[]
  /** Reads the tokens again, because an operator can know a new token before the service. */
  check(): Promise<void>
}

export type ConsoleSession = {
  /** Name of the session in audit lines. The name gives no access. */
  readonly name: string
  /** Proves that a form came from a page of this session. */
  readonly formToken: string
  /** Text for the next page of the session. */
  notice?: string | undefined
}

/** For audit lines. `session` names the session. */
export type ConsoleSessionEvent = {
  readonly action:
    | 'console_signed_in'
    | 'console_sign_in_failed'
    | 'console_sign_in_throttled'
    | 'console_signed_out'
  readonly session?: string
  readonly address: string
}

export type ConsoleSignIn =
  | { readonly cookie: string }
  | { readonly rejected: 'wrong' }
  | { readonly rejected: 'throttled'; readonly retryAfterSeconds: number }

/** The sessions of the operators who are signed in at this process. */
export type ConsoleSessions = {
  /** Returns the session of a request, and starts its idle time again. */
  find(headers: IncomingHttpHeaders): ConsoleSession | undefined
  /** Compares the token in constant time, and starts a session. Counts each attempt of an address. */
  signIn(
    token: string,
    request: { headers: IncomingHttpHeaders; clientAddress: string },
  ): Promise<ConsoleSignIn>
  /** Ends the session of a request. Returns the `Set-Cookie` header that removes the cookie. */
  signOut(request: { headers: IncomingHttpHeaders; clientAddress: string }): string
  /** Verifies the token of a form in constant time. */
  verifyForm(session: ConsoleSession, formToken: string | undefined): boolean
}

/** A session ends at this time after the sign-in. Milliseconds. */
export const SESSION_MS = 8 * 3_600_000
/** A session ends at this time after its last request. Milliseconds. */
export const IDLE_MS = 30 * 60_000
/** Maximum number of sign-in attempts of an address, also with the correct token. */
export const SIGN_IN_RATE = { perAddress: 10, windowMs: 60_000 }
/** Maximum number of sessions. A new session ends the oldest session. */
const MAX_SESSIONS = 100
const RANDOM_BYTES = 32

type Entry = ConsoleSession & {
  readonly tokenHash: Buffer
  readonly createdAtMs: number
  usedAtMs: number
}

/**
 * Keeps sessions in memory, by the hash of their random ID. A session also ends when the credential no longer contains
 * the token of its sign-in.
 */
export function createConsoleSessions(options: {
  readonly credential: ConsoleCredential
  readonly nowMs: () => number
  readonly onEvent: (event: ConsoleSessionEvent) => void
}): ConsoleSessions {
  const { credential, nowMs, onEvent } = options
  const sessions = new Map<string, Entry>()
  const limit = createAddressLimit(SIGN_IN_RATE, nowMs)
  const throttled = createAddressLimit({ ...SIGN_IN_RATE, perAddress: 1 }, nowMs)

  const isAccepted = (tokenHash: Buffer): boolean =>
    credential.tokens().filter((token) => timingSafeEqual(sha256(token), tokenHash)).length > 0

  const findEntry = (headers: IncomingHttpHeaders): [key: string, entry: Entry] | undefined => {
    const value = cookieValue(headers.cookie, cookieName(headers))
    if (value === undefined) return undefined
    const key = keyOf(value)
    const entry = sessions.get(key)
    if (entry === undefined) return undefined
    const now = nowMs()
    if (now - entry.createdAtMs < SESSION_MS && now - entry.usedAtMs < IDLE_MS && isAccepted(entry.tokenHash))
      return [key, entry]
    sessions.delete(key)
    return undefined
  }

  return {
    find(headers) {
      const [, entry] = findEntry(headers) ?? []
      if (entry !== undefined) entry.usedAtMs = nowMs()
      return entry
    },
    async signIn(token, { headers, clientAddress: address }) {
      const wait = limit.take(address)
      if (wait !== undefined) {
        if (throttled.take(address) === undefined) onEvent({ action: 'console_sign_in_throttled', address })
        return { rejected: 'throttled', ...wait }
      }
      const tokenHash = sha256(token)
      if (!isAccepted(tokenHash)) await credential.check()
      if (!isAccepted(tokenHash)) {
        onEvent({ action: 'console_sign_in_failed', address })
        return { rejected: 'wrong' }
      }
      const value = randomBytes(RANDOM_BYTES).toString('base64url')
      const key = keyOf(value)
      const [oldest] = sessions.keys()
      if (sessions.size >= MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest)
      const name = key.slice(0, 12)
      const now = nowMs()
      const formToken = randomBytes(RANDOM_BYTES).toString('base64url')
      sessions.set(key, { name, formToken, tokenHash, createdAtMs: now, usedAtMs: now })
      onEvent({ action: 'console_signed_in', session: name, address })
      return { cookie: `${cookieName(headers)}=${value}; ${attributesOf(headers)}` }
    },
    signOut({ headers, clientAddress: address }) {
      const [key, entry] = findEntry(headers) ?? []
      if (key !== undefined && entry !== undefined) {
        sessions.delete(key)
        onEvent({ action: 'console_signed_out', session: entry.name, address })
      }
      return `${cookieName(headers)}=; ${attributesOf(headers)}; Max-Age=0`
    },
    verifyForm: (session, formToken) =>
      formToken !== undefined && timingSafeEqual(sha256(formToken), sha256(session.formToken)),
  }
}

/** The name contains the port, because browsers send cookies to all ports of a host. RFC 6265 section 8.5. */
function cookieName({ host = '' }: IncomingHttpHeaders): string {
  return `scopegate-console-${/:(\d{1,5})$/.exec(host)?.[1] ?? 'default'}`
}

function attributesOf({ origin }: IncomingHttpHeaders): string {
  const secure = origin?.startsWith('https:') === true ? '; Secure' : ''
  return `Path=/; HttpOnly; SameSite=Strict${secure}`
}

function keyOf(value: string): string {
  return hash('sha256', value, 'hex')
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
