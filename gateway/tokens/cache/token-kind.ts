/** How tokens are told apart in metrics. */
export type TokenKind = 'jwt' | 'opaque'

/**
 * What a token looks like, for metrics: whether it is a JWT is told by read-compact-jwt.ts. Cost: less than reading it.
 */
export function tokenKind(token: string): TokenKind {
  // A JWT begins with an object in base64url: `e`, and has dots.
  return token.charCodeAt(0) === 0x65 && token.includes('.') ? 'jwt' : 'opaque'
}
