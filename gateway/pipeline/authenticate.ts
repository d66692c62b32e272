import { readCredentials, schemeOf } from '../../policy-engine/decide/read-credentials.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { ApiRoute } from '../snapshot/route.ts'
import { tokenKind } from '../tokens/cache/token-kind.ts'
import type { TokenStatus } from '../tokens/cache/token-status.ts'
import { UnverifiableError } from '../tokens/unverifiable-error.ts'
import type { CanonicalContext } from './request-context.ts'
import { traced } from './request-spans.ts'

/** `Retry-After` of an error without a retry time. A restarting issuer is usually available again after this time. */
const RETRY_AFTER_SECONDS = 2

/**
 * Reads the access token of a request to a route of a policy. Reads `canonical`. Sets `resource`, `token` and
 * `credential`.
 * @returns the rejection `credentials_ambiguous` (400), or `proof_invalid` or `token_invalid` (401).
 */
export function readAccessToken(context: CanonicalContext, route: ApiRoute): Rejection | undefined {
  const { canonical, services } = context
  context.resource = route.resourceOf(canonical.path)
  const credentials = readCredentials(canonical, services.limits)
  if ('rejected' in credentials) {
    context.credential = schemeOf(canonical.headers.authorization)
    return credentials
  }
  if (credentials.kind === 'anonymous') return undefined
  context.token = credentials.token
  context.credential = credentials.kind
  return undefined
}

/**
 * Validates the token, from the cache or at the issuer. Only an issuer of the resource can validate the token.
 * Reads `token`, `resource` and `requestId`. Sets `caller`, or `failureCode` when no issuer can validate the token.
 * Counts only the first validation of a request.
 * @returns a promise unless the status is in the cache. The rejections are `token_invalid` (401) and
 * `token_unverifiable` (503).
 */
export function validateAccessToken(
  context: CanonicalContext,
  route: ApiRoute,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { token, resource, requestId, services } = context
  if (token === undefined) return undefined
  const isFirst = context.caller === undefined
  const { tokenValidator } = services
  const { issuers } = resource
  const status =
    tokenValidator.cached(token, issuers, route.claims) ??
    traced(context, () => tokenValidator.check(token, issuers, route.claims, undefined, requestId))
  if (status instanceof Promise) return awaitStatus(context, token, status, isFirst)
  if (isFirst) countValidation(context, token, 'hit')
  return applyStatus(context, status)
}

async function awaitStatus(
  context: CanonicalContext,
  token: string,
  pending: Promise<TokenStatus>,
  isFirst: boolean,
): Promise<Rejection | undefined> {
  const rejection = await pending.then(
    (status) => applyStatus(context, status),
    (error) => toUnverifiable(context, error),
  )
  if (isFirst) countValidation(context, token, 'miss')
  return rejection
}

function applyStatus(context: CanonicalContext, status: TokenStatus): Rejection | undefined {
  if (!status.active) return { rejected: 'token_invalid', fault: status.fault }
  context.caller = status.caller
  return undefined
}

function toUnverifiable(context: CanonicalContext, error: unknown): Rejection {
  if (!(error instanceof UnverifiableError)) throw error
  context.failureCode = error.code
  const retryAfterSeconds =
    error.retryAfterMs === undefined
      ? RETRY_AFTER_SECONDS
      : Math.max(1, Math.ceil(error.retryAfterMs / 1_000))
  return { rejected: 'token_unverifiable', retryAfterSeconds }
}

function countValidation(
  { services, startedMs }: CanonicalContext,
  token: string,
  result: 'hit' | 'miss',
): void {
  services.tokenMeter.validated(tokenKind(token), result, (services.tickMs() - startedMs) / 1_000)
}
