import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { cookieValue } from '../../platform/pages/cookie-value.ts'

const COOKIE_BYTES = 32

/** Tokens that prove that a form came from a page of this server, for this browser and this interaction. */
export type FormTokens = {
  /** @returns the cookie value of the browser. `setCookie` is the `Set-Cookie` header to send when the value is new. */
  readCookie(header: string | undefined): { readonly value: string; readonly setCookie: string | undefined }
  /** Returns the token for the form: a MAC over the interaction and the cookie of the browser. */
  issue(uid: string, cookieValue: string): string
  /**
   * Verifies a token in constant time. Returns false when the cookie or the token is absent, or if the token does not
   * match the cookie.
   */
  verify(options: {
    readonly uid: string
    readonly cookieHeader: string | undefined
    readonly token: string | undefined
  }): boolean
}

/**
 * Creates double-submit tokens. The browser has a random cookie. The form has the HMAC of this cookie and the uid of
 * the interaction. With https, the cookie has the prefix `__Host-`, so that other hosts of the domain cannot set the
 * cookie. Source: RFC 6265bis section 4.1.3.2.
 * @param cookieKeys returns the keys, newest first. The first key signs. Every key verifies.
 */
export function createFormTokens(options: {
  readonly cookieKeys: () => readonly string[]
  readonly secureCookies: boolean
}): FormTokens {
  const name = options.secureCookies ? '__Host-scopegate-form' : 'scopegate-form'
  const attributes = options.secureCookies ? 'Path=/; Secure' : 'Path=/oauth'
  const mac = (key: string, uid: string, cookie: string): Buffer =>
    createHmac('sha256', key).update(`scopegate form token\n${uid}\n${cookie}`).digest()
  const signingKey = (): string => {
    const [newest] = options.cookieKeys()
    if (newest === undefined) throw new TypeError('at least one cookie key is required')
    return newest
  }
  signingKey()

  return {
    readCookie: (header) => {
      const present = cookieValue(header, name)
      if (present !== undefined) return { value: present, setCookie: undefined }
      const value = randomBytes(COOKIE_BYTES).toString('base64url')
      return { value, setCookie: `${name}=${value}; ${attributes}; HttpOnly; SameSite=Lax` }
    },
    issue: (uid, cookie) => mac(signingKey(), uid, cookie).toString('base64url'),
    verify: ({ uid, cookieHeader, token }) => {
      const cookie = cookieValue(cookieHeader, name)
      if (cookie === undefined || token === undefined) return false
      const presented = Buffer.from(token, 'base64url')
      return options.cookieKeys().some((key) => {
        const expected = mac(key, uid, cookie)
        return presented.length === expected.length && timingSafeEqual(presented, expected)
      })
    },
  }
}

/**
 * Returns whether the headers of a posted form are consistent with a page of this server. This check is an addition to
 * the form token. A form without these headers passes, because some browsers do not send these headers. From a page
 * with `Referrer-Policy: no-referrer`, browsers send `Origin: null`. Source: W3C Fetch Metadata section 2.4; Fetch
 * Standard, "append a request Origin header".
 */
export function isSameOrigin(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { origin } = headers
  return origin === undefined || origin === 'null' || origin === ownOrigin
}
