import type { KoaContextWithOIDC } from 'oidc-provider'
import { ENDPOINTS } from '../../oauth/endpoints.ts'

/**
 * Returns whether an error of the engine means that an introspected token is unknown.
 * The engine rejects every JWT with 400 `unsupported_token_type`. Access and refresh tokens of this server are opaque,
 * so a JWT is never one of them.
 */
export function isUnknownToken(path: string, error: unknown): boolean {
  return path === ENDPOINTS.introspection && error === 'unsupported_token_type'
}

/** Reports an unknown token as inactive. Source: RFC 7662 section 2.2. */
export function reportInactive(ctx: KoaContextWithOIDC): void {
  const body: unknown = ctx.body
  if (typeof body !== 'object' || body === null || !('error' in body)) return
  if (!isUnknownToken(ctx.path, body.error)) return
  ctx.status = 200
  ctx.body = { active: false }
}
