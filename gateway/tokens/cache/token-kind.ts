/** Kind of token, a metric label. */
export type TokenKind = 'jwt' | 'opaque'

/**
 * Returns the apparent kind of a token, for metrics only. `readCompactJwt()` decides whether a token is a JWT. Cost:
 * less than parsing the token.
 */
export function tokenKind(token: string): TokenKind {
  // A JWT starts with a JSON object in base64url, so with `e`, and contains dots.
  return token.charCodeAt(0) === 0x65 && token.includes('.') ? 'jwt' : 'opaque'
}
