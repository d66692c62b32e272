import type { HeaderSource } from '../match/find-header.ts'
import type { RequestValues } from '../match/request-values.ts'
import type { Caller } from './caller.ts'
import { checkAccess } from './check-access.ts'
import { rewritePath } from './check-limits.ts'
import type { CompiledPolicies, CompiledRoute } from './compile-policies.ts'
import { isAuditOnly } from './is-audit-only.ts'
import type { PossessionProof } from './possession-proof.ts'
import { readPreflight } from './preflight.ts'
import type { Refusal } from './refusal.ts'
import { findRoute } from './select-route.ts'

export type DecisionRequest = HeaderSource & {
  readonly method: string
  /** Canonical path, from `canonicalTarget()`. */
  readonly path: string
  /** With the question mark; empty without a query. */
  readonly query: string
  readonly nowSeconds: number
  /** Maximum length of a rewritten path: `limits.target`. Bytes. */
  readonly targetLimitBytes: number
  /** The proof of possession; undefined: a Bearer token without a certificate. */
  readonly proven?: PossessionProof | undefined
}

/** The decision of the policies on a request. Limits and upstreams may still reject it. */
export type Decision = {
  /** `challenge`: 401 with information on how to get a token. `deny`: all other refusals. */
  readonly outcome: 'allow' | 'deny' | 'challenge'
  /** Identity of an allowed request. `gateway`: the gateway sends a local reply to OPTIONS. */
  readonly as: 'token' | 'anonymous' | 'gateway' | undefined
  /** The matched route, whether or not access is allowed. */
  readonly route: CompiledRoute | undefined
  readonly params: Readonly<Record<string, string>>
  readonly refusal: Refusal | undefined
  /** Audit-only routes: the refusal that the gateway logs but does not apply. */
  readonly reported?: Refusal | undefined
  /** Path of the upstream request, without the base path of the upstream. undefined if the gateway does not forward. */
  readonly upstreamPath: string | undefined
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * Decides on a request by policies alone: selects the route, checks access, and builds the upstream path. Pure.
 * The server decides with the same functions.
 */
export function decide(
  request: DecisionRequest,
  caller: Caller | undefined,
  policies: Pick<CompiledPolicies, 'match'>,
): Decision {
  const { method, path } = request
  const found = findRoute(method, path, policies, request)
  if ('refused' in found) return refused(found)
  if (found.kind === 'options') return ANSWERED
  const { route, params } = found
  if (readPreflight(method, request) !== undefined) return { ...ANSWERED, route, params }
  const { nowSeconds, proven } = request
  const refusal = checkAccess(
    {
      nowSeconds,
      possessionProof: proven,
      resource: route.resourceOf(path),
      values: requestValuesOf(request, params),
    },
    caller,
    route.access,
  )
  const isServed = refusal === undefined || isAuditOnly(refusal, route.policy.enforce)
  if (!isServed) return refused(refusal, route, params)
  const upstreamPath = toUpstreamPath(request, route, params)
  if (typeof upstreamPath !== 'string') return refused(upstreamPath, route, params)
  const as = caller === undefined ? 'anonymous' : 'token'
  return { outcome: 'allow', as, route, params, refusal: undefined, reported: refusal, upstreamPath }
}

const ANSWERED: Decision = Object.freeze({
  outcome: 'allow',
  as: 'gateway',
  route: undefined,
  params: NO_PARAMS,
  refusal: undefined,
  reported: undefined,
  upstreamPath: undefined,
})

function refused(refusal: Refusal, route?: CompiledRoute, params = NO_PARAMS): Decision {
  const isChallenge = refusal.refused === 'token_missing' && refusal.anonymous === 'challenge'
  const outcome = isChallenge ? 'challenge' : 'deny'
  return { outcome, as: undefined, route, params, refusal, reported: undefined, upstreamPath: undefined }
}

export function requestValuesOf(
  request: DecisionRequest,
  params: Readonly<Record<string, string>>,
): RequestValues {
  return { params, query: request.query, header: (name) => request.header(name) }
}

function toUpstreamPath(
  { method, path, targetLimitBytes }: DecisionRequest,
  { rewrite }: CompiledRoute,
  params: Readonly<Record<string, string>>,
): string | Refusal {
  if (rewrite === undefined) return path
  return rewritePath(rewrite, params, { method, origin: '', limitBytes: targetLimitBytes })
}
