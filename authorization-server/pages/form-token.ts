import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const COOKIE_BYTES = 32
const COOKIE_VALUE = /^[A-Za-z0-9_-]{43}$/

/** Proof that a form came from a page that this server gave to this browser for this interaction. */
export type FormTokens = {
  /** @returns the browser's own value, and the `Set-Cookie` to send along when it is new. */
  readCookie(header: string | undefined): { readonly value: string; readonly setCookie: string | undefined }
  /** What the form carries: a MAC over the interaction and the browser's cookie. */
  issue(uid: string, cookieValue: string): string
  /** Constant-time. False without a cookie, without a token, or when the two do not belong together. */
  verify(options: {
    readonly uid: string
    readonly cookieHeader: string | undefined
    readonly token: string | undefined
  }): boolean
}

/**
 * Double-submit tokens: a random cookie, and in the form its HMAC together with the interaction's uid.
 * Over https the cookie is `__Host-`: no other host of the domain can plant one. Source: RFC 6265bis section 4.1.3.2.
 * @param cookieKeys newest first; every key verifies, the first one signs.
 */
export function createFormTokens(options: {
  readonly cookieKeys: readonly string[]
  readonly secureCookies: boolean
}): FormTokens {
  const name = options.secureCookies ? '__Host-scopegate-form' : 'scopegate-form'
  const attributes = options.secureCookies ? 'Path=/; Secure' : 'Path=/oauth/interaction'
  const mac = (key: string, uid: string, cookie: string): Buffer =>
    createHmac('sha256', key).update(`scopegate form token\n${uid}\n${cookie}`).digest()
  const [signingKey] = options.cookieKeys
  if (signingKey === undefined) throw new TypeError('at least one cookie key is needed')

  return {
    readCookie: (header) => {
      const present = cookieValue(header, name)
      if (present !== undefined) return { value: present, setCookie: undefined }
      const value = randomBytes(COOKIE_BYTES).toString('base64url')
      return { value, setCookie: `${name}=${value}; ${attributes}; HttpOnly; SameSite=Lax` }
    },
    issue: (uid, cookie) => mac(signingKey, uid, cookie).toString('base64url'),
    verify: ({ uid, cookieHeader, token }) => {
      const cookie = cookieValue(cookieHeader, name)
      if (cookie === undefined || token === undefined) return false
      const presented = Buffer.from(token, 'base64url')
      return options.cookieKeys.some((key) => {
        const expected = mac(key, uid, cookie)
        return presented.length === expected.length && timingSafeEqual(presented, expected)
      })
    },
  }
}

/** @returns undefined when it is missing, malformed, or there twice (somebody planted one). */
function cookieValue(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const [key, value] = pair.trim().split('=', 2)
    return key === name && value !== undefined ? [value] : []
  })
  const [value] = values
  return values.length === 1 && value !== undefined && COOKIE_VALUE.test(value) ? value : undefined
}
