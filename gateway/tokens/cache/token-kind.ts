export type TokenKind = 'jwt' | 'opaque'

/**
 * Returns the apparent kind of a token, for metrics only. `readCompactJwt()` decides whether a token is a JWT. This
 * function costs less than parsing the token.
 */
export function tokenKind(token: string): TokenKind {
  // A JWT contains dots and starts with a JSON object in base64url. The first character is therefore `e`.
  return token.charCodeAt(0) === 0x65 && token.includes('.') ? 'jwt' : 'opaque'
}
