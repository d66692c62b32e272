import { REPEATED_AUTHORIZATION } from '../../../policy-engine/decide/read-credentials.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { readAccessToken } from '../authenticate.ts'
import type { MatchedContext } from '../request-context.ts'

/**
 * Reads the access token of a request to a route of a policy. The authorization server validates its own credentials.
 * Reads `route` and `canonical`. Sets `resource`, `token` and `credential`.
 * @returns the rejection `credentials_ambiguous` (400), or `proof_invalid` or `token_invalid` (401).
 */
export function readToken(context: MatchedContext): Rejection | undefined {
  const { route, canonical } = context
  if (route.kind === 'authorization_server')
    return canonical.headers.authorizationCount > 1 ? REPEATED_AUTHORIZATION : undefined
  return route.kind === 'api' ? readAccessToken(context, route) : undefined
}
