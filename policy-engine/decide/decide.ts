import type { CanonicalRequest } from '../match/canonical-request.ts'
import { isFreePage } from '../match/free-pages.ts'
import { simulatedCall } from '../match/mcp-headers.ts'
import { isReservedDocument, isReservedPath } from '../match/reserved-paths.ts'
import type { Resource } from '../match/resources.ts'
import type { Caller } from './caller.ts'
import { decideAccess, rejectAnonymous } from './check-access.ts'
import { bodyLimitOf, checkLimits } from './check-limits.ts'
import type { CompiledPolicies, CompiledRoute } from './compile-policies.ts'
import { NO_POSSESSION_PROOF, type PossessionProof } from './confirmation.ts'
import { readCredentials } from './read-credentials.ts'
import type { Rejection } from './rejection.ts'
import { type DecidedPreflight, selectRoute } from './select-route.ts'

/** Limits that affect a decision. Bytes. */
export type DecisionLimits = {
  /** Maximum length of the request target, and of a rewritten path. */
  readonly targetBytes: number
  readonly tokenBytes: number
  /** The default body limit, for routes without a body limit. */
  readonly bodyBytes: number
}

export type DecisionRequest = {
  readonly method: string
  readonly canonical: CanonicalRequest
  readonly nowSeconds: number
  readonly limits: DecisionLimits
  /** Proof of possession. Default: a Bearer token without a certificate. */
  readonly possessionProof?: PossessionProof
  /** Whether the gateway serves its pages (`docs.enabled`). Default: true. */
  readonly servesPages?: boolean | undefined
}

/** The decision on a request. Rate limits and upstreams may still reject an allowed request. */
export type Decision = {
  /** `challenge`: 401 with information on how to get a sufficient token. `deny`: all other rejections. */
  readonly outcome: 'allow' | 'deny' | 'challenge'
  /**
   * Identity of an allowed request. `gateway`: the gateway sends a local reply. undefined: the request is not allowed.
   */
  readonly as: 'token' | 'anonymous' | 'gateway' | undefined
  /** The matched route, whether or not access is allowed. */
  readonly route: CompiledRoute | undefined
  readonly params: Readonly<Record<string, string>>
  readonly rejection: Rejection | undefined
  /** For an audit-only route: the denial that the gateway logs but does not apply. */
  readonly auditOnlyDenial: Rejection | undefined
  /** Path of the upstream request, without the base path of the upstream. undefined if the gateway does not forward. */
  readonly upstreamPath: string | undefined
  /** The decision on a CORS preflight. undefined: the request is not a CORS preflight. */
  readonly preflight: DecidedPreflight | undefined
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * Decides on a request without a socket and without an issuer. Pure.
 * Calls the same functions in the same order as the stages of the server (`gateway/pipeline/pipeline.ts`):
 * - `rejectEarly()` and `withSimulatedCall()`: stage `readMcpCall`
 * - `selectRoute()`: stage `matchRoute`
 * - `readCredentials()`: stage `readToken`
 * - `callerOf()`: stages `validateToken` and `verifyPossession`
 * - `decideAccess()`: stage `decide`
 * - `checkLimits()`: stage `enforceLimits`
 *
 * The gateway itself replies to requests for reserved paths, so no policy decides on these requests. Documents of the
 * gateway have only the methods GET, HEAD and OPTIONS.
 * @param callerOf returns the caller for the resource of the route; undefined without a token; a rejection for a token
 * that is not valid.
 */
export function decide(
  request: DecisionRequest,
  callerOf: (resource: Resource) => Caller | Rejection | undefined,
  policies: Pick<CompiledPolicies, 'match' | 'routesAt' | 'mcpRoutes' | 'freePages'>,
): Decision {
  const { method, nowSeconds, limits, possessionProof = NO_POSSESSION_PROOF, servesPages = true } = request
  const mcpRoutes = policies.mcpRoutes(method, request.canonical.path)?.filter((route) => 'policy' in route)
  const early = mcpRoutes && rejectEarly(request, callerOf, mcpRoutes)
  if (early !== undefined) return denied(early)
  const canonical = mcpRoutes === undefined ? request.canonical : withSimulatedCall(request.canonical)
  if ('rejected' in canonical) return denied(canonical)
  const { path } = canonical
  const isDocument = isReservedDocument(path) || (servesPages && isFreePage(path, policies.freePages))
  const selection = selectRoute(method, canonical, isDocument ? withDocument(policies) : policies)
  const isOfPolicy = 'route' in selection && selection.route !== undefined
  if (!isOfPolicy && !isDocument && isReservedPath(path)) return LOCAL_REPLY
  if ('rejected' in selection)
    return isDocument && selection.rejected === 'route_unknown' ? LOCAL_REPLY : denied(selection)
  const { route, params } = selection
  if (selection.kind === 'options') return { ...LOCAL_REPLY, route, params, preflight: selection.preflight }
  const matched = selection.route

  const credentials = readCredentials(canonical, limits)
  if ('rejected' in credentials) return denied(credentials, selection)
  const resource = matched.resourceOf(canonical.path)
  const caller = callerOf(resource)
  if (caller !== undefined && 'rejected' in caller) return denied(caller, selection)

  const denial = decideAccess({ canonical, params, resource, possessionProof }, caller, matched, nowSeconds)
  if (denial !== undefined && !denial.isAuditOnly) return denied(denial.rejection, selection)
  const upstreamPath = checkLimits(
    { method, canonical, params },
    { bodyLimitBytes: bodyLimitOf(matched.policy, limits.bodyBytes), rewrite: matched.rewrite },
    limits.targetBytes,
  )
  const auditOnlyDenial = denial?.rejection
  if (typeof upstreamPath !== 'string') return { ...denied(upstreamPath, selection), auditOnlyDenial }
  return {
    outcome: 'allow',
    as: caller === undefined ? 'anonymous' : 'token',
    route,
    params,
    rejection: undefined,
    auditOnlyDenial,
    upstreamPath,
    preflight: undefined,
  }
}

const DOCUMENT_METHODS: readonly string[] = ['GET', 'HEAD']

/** Adds the methods of a document of the gateway to a path without policy routes. */
function withDocument(
  policies: Pick<CompiledPolicies, 'match' | 'routesAt'>,
): Pick<CompiledPolicies, 'match' | 'routesAt'> {
  return {
    routesAt: policies.routesAt,
    match(method, path, request) {
      const found = policies.match(method, path, request)
      const isRejected = found.kind === 'not_found' && !DOCUMENT_METHODS.includes(method)
      return isRejected ? { kind: 'method_not_allowed', allow: DOCUMENT_METHODS } : found
    },
  }
}

/** Rejects a client before the server reads the MCP call from the body. */
function rejectEarly(
  { canonical, limits }: DecisionRequest,
  callerOf: (resource: Resource) => Caller | Rejection | undefined,
  routes: readonly CompiledRoute[],
): Rejection | undefined {
  const [route] = routes
  if (route === undefined) return undefined
  const credentials = readCredentials(canonical, limits)
  if ('rejected' in credentials) return credentials
  const caller = callerOf(route.resourceOf(canonical.path))
  if (caller === undefined) return rejectAnonymous(routes)
  return 'rejected' in caller ? caller : undefined
}

/** Adds the MCP call on a path with `mcp.readBody`. The server reads the call from the body: stage `readMcpCall`. */
function withSimulatedCall(canonical: CanonicalRequest): CanonicalRequest | Rejection {
  const mcpCall = simulatedCall(canonical.headers)
  return 'rejected' in mcpCall ? mcpCall : { ...canonical, headers: { ...canonical.headers, mcpCall } }
}

const LOCAL_REPLY: Decision = Object.freeze({
  outcome: 'allow',
  as: 'gateway',
  route: undefined,
  params: NO_PARAMS,
  rejection: undefined,
  auditOnlyDenial: undefined,
  upstreamPath: undefined,
  preflight: undefined,
})

/** Returns the decision for a rejection. `matched`: the route, if a route matched before the rejection. */
export function denied(rejection: Rejection, matched?: Pick<Decision, 'route' | 'params'>): Decision {
  const isChallenge =
    rejection.rejected === 'authentication_insufficient' ||
    (rejection.rejected === 'token_missing' && rejection.anonymous === 'challenge')
  return {
    outcome: isChallenge ? 'challenge' : 'deny',
    as: undefined,
    route: matched?.route,
    params: matched?.params ?? NO_PARAMS,
    rejection,
    auditOnlyDenial: undefined,
    upstreamPath: undefined,
    preflight: undefined,
  }
}
