/** The value of a cookie with 32 random bytes, in base64url. */
const COOKIE_VALUE = /^[A-Za-z0-9_-]{43}$/

/**
 * Returns the value of a cookie with 32 random bytes.
 * @returns undefined when the cookie is absent, malformed, or present twice (a sign of cookie injection).
 */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const [key, value] = pair.trim().split('=')
    return key === name && value !== undefined ? [value] : []
  })
  const [value] = values
  return values.length === 1 && value !== undefined && COOKIE_VALUE.test(value) ? value : undefined
}
