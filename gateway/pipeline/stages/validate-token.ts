import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { tokenKind } from '../../tokens/cache/token-kind.ts'
import type { TokenStatus } from '../../tokens/cache/token-status.ts'
import { UnverifiableError } from '../../tokens/unverifiable-error.ts'
import type { MatchedContext } from '../request-context.ts'

/** `Retry-After` of an error without a retry time. A restarting issuer is usually available again after this time. */
const RETRY_AFTER_SECONDS = 2

/**
 * Validates the token, from the cache or at the issuer. Only an issuer of the resource can validate the token.
 * Reads `token`, `resource`, `route` and `requestId`. Sets `caller`, or `failureCode` when no issuer can validate the
 * token.
 * @returns a promise unless the status is in the cache. The rejections are `token_invalid` (401) and
 * `token_unverifiable` (503).
 */
export function validateToken(
  context: MatchedContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { token, route, resource, requestId, services } = context
  if (token === undefined || route.kind !== 'api') return undefined
  const status = services.tokenValidator.validate(token, resource.issuers, route.claims, undefined, requestId)
  if (status instanceof Promise) return awaitStatus(context, token, status)
  countValidation(context, token, 'hit')
  return applyStatus(context, status)
}

async function awaitStatus(
  context: MatchedContext,
  token: string,
  pending: Promise<TokenStatus>,
): Promise<Rejection | undefined> {
  const rejection = await pending.then(
    (status) => applyStatus(context, status),
    (error) => toUnverifiable(context, error),
  )
  countValidation(context, token, 'miss')
  return rejection
}

function applyStatus(context: MatchedContext, status: TokenStatus): Rejection | undefined {
  if (!status.active) return { rejected: 'token_invalid', fault: status.fault }
  context.caller = status.caller
  return undefined
}

function toUnverifiable(context: MatchedContext, error: unknown): Rejection {
  if (!(error instanceof UnverifiableError)) throw error
  context.failureCode = error.code
  const retryAfterSeconds =
    error.retryAfterMs === undefined
      ? RETRY_AFTER_SECONDS
      : Math.max(1, Math.ceil(error.retryAfterMs / 1_000))
  return { rejected: 'token_unverifiable', retryAfterSeconds }
}

function countValidation(
  { services, startedMs }: MatchedContext,
  token: string,
  result: 'hit' | 'miss',
): void {
  services.tokenMeter.validated(tokenKind(token), result, (services.tickMs() - startedMs) / 1_000)
}
