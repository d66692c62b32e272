import {
  REPEATED_AUTHORIZATION,
  readCredentials,
  schemeOf,
} from '../../../policy-engine/decide/read-credentials.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import type { MatchedContext } from '../request-context.ts'

/**
 * Reads the access token of a request to a route of a policy. The authorization server validates its own credentials.
 * Reads `route` and `canonical`. Sets `resource`, `token` and `credential`.
 * @returns the rejection `credentials_ambiguous` (400), or `proof_invalid` or `token_invalid` (401).
 */
export function readToken(context: MatchedContext): Rejection | undefined {
  const { route, canonical, services } = context
  const { headers } = canonical
  if (route.kind === 'authorization_server')
    return headers.authorizationCount > 1 ? REPEATED_AUTHORIZATION : undefined
  if (route.kind !== 'api') return undefined
  context.resource = route.resourceOf(canonical.path)
  const credentials = readCredentials(canonical, services.limits)
  if ('rejected' in credentials) {
    context.credential = schemeOf(headers.authorization)
    return credentials
  }
  if (credentials.kind === 'anonymous') return undefined
  context.token = credentials.token
  context.credential = credentials.kind
  return undefined
}
