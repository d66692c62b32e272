import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { validateAccessToken } from '../authenticate.ts'
import type { MatchedContext } from '../request-context.ts'

/**
 * Validates the token of a request to a route of a policy. After `readMcpCall`, this is the second validation: the token can
 * be revoked while the body arrives, and the route can need other claims than the first route of the path.
 * Reads `token`, `resource`, `route` and `requestId`. Sets `caller`, or `failureCode` when no issuer can validate the
 * token.
 * @returns a promise unless the status is in the cache. The rejections are `token_invalid` (401) and
 * `token_unverifiable` (503).
 */
export function validateToken(
  context: MatchedContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { route } = context
  return route.kind === 'api' ? validateAccessToken(context, route) : undefined
}
