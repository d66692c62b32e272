import { type IncomingMessage, METHODS } from 'node:http'
import { normalizeIp } from '../../platform/net/normalize-ip.ts'
import { needsProxy } from '../../policy-engine/decide/mode.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { canonicalRequest } from '../../policy-engine/match/canonical-request.ts'
import { foldHeaderName, headerKind } from '../../policy-engine/match/header-kind.ts'
import { HEADER_FAMILIES, type HeaderFamily } from '../config/decision-headers.ts'
import type { DecisionHeaders, DecisionProtocol } from '../config/gateway-config.ts'
import type { ApiRoute } from '../snapshot/route.ts'
import { corsOf } from './cors-headers.ts'
import type { CanonicalContext, MatchedContext, RequestContext, StageResult } from './request-context.ts'
import type { LocalReply, TextReply } from './send-reply.ts'

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
/** The gateway cannot apply this route without forwarding the request, so the route does not exist in this mode. */
export const NOT_DECIDABLE: Rejection = Object.freeze({ rejected: 'route_unknown' })
/** Targets of the documents, except `/`: some ingresses ask for each decision at `/`. */
const DOCUMENT_TARGET = /^\/(?:\.well-known\/|docs(?:[/?]|$)|(?:openapi\.json|auth\.md|llms\.txt)(?:\?|$))/
const NOT_PRINTABLE = /[^\x20-\x7e]/g
/** Envoy asks with "!" in place of each byte that is not UTF-8, and forwards the byte. */
export const REPLACED_PATH = /^[^?]*!/

/**
 * The header with the names of the request headers that Envoy removes before it forwards an allowed request.
 * Source: envoy/service/auth/v3/external_auth.proto, `headers_to_remove`.
 */
export const HEADERS_TO_REMOVE = 'x-envoy-auth-headers-to-remove'
/** The same list for an ingress with `forward-auth`. */
const FORWARD_AUTH_REMOVES = 'x-scopegate-remove'
/**
 * Only an allowed request gets this header, and the gateway removes it from responses of upstreams. An ingress can
 * therefore detect a 200 that is not a decision.
 */
const FORWARD_AUTH_ALLOWS = ['x-scopegate-decision', 'allow'] as const
/** Headers that Envoy sets or needs itself. Envoy sanitizes them. */
const SET_BY_ENVOY = /^(?:x-forwarded-(?:for|proto|client-cert)|x-request-id|x-envoy-.*|te|trailer|expect)$/
const AMBIGUOUS_NAME = malformed(
  'The name of a header is another spelling of a header that only the gateway may set. Send letters, digits and hyphens.',
)
const AMBIGUOUS_PATH = malformed('The path contains "!", which Envoy also writes for other bytes. Send %21.')
const NO_UPGRADES = malformed('This route does not accept upgrades to another protocol.')
/** Only trusted proxies can ask for a decision. Otherwise a client could describe any request. */
export const UNTRUSTED_PEER: Rejection = malformed(
  'Only the addresses in trustedProxies can ask for a decision.',
)

/** Method and target of the request that the ingress received. Both are unchecked client input. */
type OriginalRequest = { readonly method: string; readonly target: string }

/**
 * Reads the method and the target of the original request from the headers of the ingress. Pure. No value is guessed:
 * a missing, repeated, unknown or contradictory value is a rejection.
 * @returns the original request, or `request_malformed` (400).
 */
function readOriginalRequest(
  request: Pick<IncomingMessage, 'headersDistinct' | 'method' | 'url'>,
  protocol: DecisionProtocol,
  family: HeaderFamily | undefined,
): OriginalRequest | Rejection {
  const { headersDistinct } = request
  const original =
    family === undefined
      ? { method: request.method ?? '', target: request.url ?? '' }
      : readHeaderFamily(headersDistinct, family)
  if ('rejected' in original) return original
  const { method, target } = original
  if (!KNOWN_METHODS.has(method)) return malformed('The original method is unknown.')
  if (!target.startsWith('/')) return malformed('The original target must be a path.')
  if (protocol === 'ext-authz-http' && REPLACED_PATH.test(target)) return AMBIGUOUS_PATH
  // Only the proxy accepts upgrades. An ingress would open a tunnel to the upstream after one decision.
  if (headersDistinct['upgrade'] !== undefined) return NO_UPGRADES
  if (headersDistinct['transfer-encoding'] !== undefined || !isEmptyBody(headersDistinct['content-length']))
    return malformed('A request for a decision must not have a body.')
  return original
}

/** Reads the headers of the ingress. Each header with another name for the same value must be missing or equal. */
function readHeaderFamily(
  headersDistinct: IncomingMessage['headersDistinct'],
  family: HeaderFamily,
): OriginalRequest | Rejection {
  const method = single(headersDistinct[family.method])
  const target = single(headersDistinct[family.target])
  if (method === undefined || target === undefined)
    return malformed(
      `The ingress must send exactly one ${family.method} header and one ${family.target} header.`,
    )
  const isContradiction = Object.values(HEADER_FAMILIES).some(
    (other) =>
      contradicts(headersDistinct[other.method], method) ||
      contradicts(headersDistinct[other.target], target),
  )
  return isContradiction
    ? malformed('The headers with the original method and target contradict each other.')
    : { method, target }
}

/**
 * Returns whether a header has another spelling of a name that only the gateway may set, such as `x_auth_subject`. Few
 * ingresses can remove every spelling, so the request gets no decision. Envoy removes the headers that
 * `pushHeadersToRemove()` lists.
 */
function hasAmbiguousName(rawHeaders: readonly string[]): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase()
    if (foldHeaderName(name) !== name && headerKind(name) === 'managed') return true
  }
  return false
}

/**
 * Returns whether the ingress forwards a request to which the gateway itself responds: OPTIONS, or a request for a
 * document. The path of a request for a decision is a constant of the ingress, which is never a path of a document. A
 * request with `ext-authz-http` has the method and the path of the client.
 */
function isForwardedRequest({ method, url = '' }: IncomingMessage): boolean {
  return method === 'OPTIONS' || DOCUMENT_TARGET.test(url)
}

/** Rejects the headers of a request for a decision. Otherwise, a client could read the decision on any request. */
function readForwardedRequest(
  { method = '', url = '', headersDistinct }: IncomingMessage,
  family: HeaderFamily,
): OriginalRequest | Rejection {
  const isMixed = [family, ...Object.values(HEADER_FAMILIES)].some(
    (names) => headersDistinct[names.method] !== undefined || headersDistinct[names.target] !== undefined,
  )
  return isMixed
    ? malformed('This request must not have headers of a request for a decision.')
    : { method, target: url }
}

/**
 * Creates the first stage of the decision endpoint. The stage replaces `canonicalize`.
 * Reads `request`. Sets `method`, `canonical` and `isDecision`.
 * @returns the rejection `request_malformed` (400) or `target_too_long` (414).
 */
export function createCanonicalizeOriginal(protocol: DecisionProtocol, headers: DecisionHeaders = {}) {
  const family =
    protocol === 'ext-authz-http' || protocol === 'ext-authz-grpc'
      ? undefined
      : { ...HEADER_FAMILIES[protocol], ...headers }
  return (context: RequestContext): Rejection | undefined => {
    const { request, services } = context
    context.method = '' // the metrics must not count the method of the ingress
    if (services.trustedProxies?.has(normalizeIp(request.socket.remoteAddress)) !== true)
      return UNTRUSTED_PEER
    context.isDecision = family === undefined || !isForwardedRequest(request)
    const original =
      family === undefined || context.isDecision
        ? readOriginalRequest(request, protocol, family)
        : readForwardedRequest(request, family)
    if ('rejected' in original) return original
    context.method = original.method
    const { rawHeaders, httpVersion } = request
    if (family !== undefined && context.isDecision && hasAmbiguousName(rawHeaders)) return AMBIGUOUS_NAME
    const { method, target } = original
    const canonical = canonicalRequest({ method, url: target, rawHeaders, httpVersion }, services.targetRules)
    if ('rejected' in canonical) return canonical
    context.canonical = canonical
    return undefined
  }
}

/**
 * Creates the stage that finds the route of the original request with `matchRoute`. A local reply, such as a document or
 * the response to OPTIONS, would mean "allowed" to the ingress. The stage therefore rejects these requests, except
 * requests that the ingress forwards. Envoy returns each status except 200 to its client, so a decision of Envoy can be the
 * response to OPTIONS. The stage also rejects routes that the gateway cannot apply without forwarding: routes of the
 * authorization server, and routes with header rules or WebSockets.
 * Reads and sets the same fields as `matchRoute`.
 * @returns a document, the response to OPTIONS, or the rejection `route_unknown` (404), `method_not_allowed` (405) or
 * `policy_unavailable` (503).
 */
export function decidableOnly(matchRoute: (context: CanonicalContext) => StageResult | Promise<StageResult>) {
  return (context: CanonicalContext): StageResult | Promise<StageResult> => {
    const result = matchRoute(context)
    const { route, isDecision } = context
    if (result !== undefined) {
      const isReturned = !isDecision || (context.method === 'OPTIONS' && asksLikeEnvoy(context))
      return isReturned || 'rejected' in result ? result : NOT_DECIDABLE
    }
    return isDecision && route?.kind === 'api' && !needsProxy(route) ? undefined : NOT_DECIDABLE
  }
}

/**
 * Replies to an allowed request. The ingress copies the identity headers to its request to the upstream.
 * Reads `route`, `caller`, `canonical` and `upstreamPath`. Sets `decision` to undefined for a route with a rewrite.
 * @returns the reply with the status 200, or the rejection `route_unknown` (404) for a route with a rewrite.
 */
export function replyAllowed(context: MatchedContext): LocalReply | Rejection {
  const { route, caller, canonical, services } = context
  if (route.kind !== 'api' || context.upstreamPath !== canonical.path) {
    context.decision = undefined
    return NOT_DECIDABLE
  }
  const headers = ['content-length', '0', 'cache-control', 'no-store', 'x-request-id', context.requestId]
  if (caller !== undefined) {
    headers.push(...caller.identityHeaders)
    if (route.claimHeaders !== undefined) headers.push(...route.claimHeaders(caller))
    if (route.assert !== undefined) headers.push('x-auth-assertion', route.assert(caller, services.nowMs()))
  }
  pushHeadersToRemove(headers, context, route)
  if (services.decisionProtocol === 'forward-auth') headers.push(...FORWARD_AUTH_ALLOWS)
  headers.push(...corsOf(context), ...context.policyHeaders, ...context.rateHeaders, ...context.nonceHeaders)
  return { status: 200, headers, body: undefined }
}

function asksLikeEnvoy({ services }: RequestContext): boolean {
  return services.decisionProtocol?.startsWith('ext-authz') === true
}

/**
 * Appends the names of the headers that the proxy would not forward, so that the ingress does not forward them either.
 * Envoy removes headers after it has set headers, so the list must not contain a name of `headers`. nginx has no
 * directive for such a list.
 */
function pushHeadersToRemove(
  headers: string[],
  { request, services: { decisionProtocol } }: MatchedContext,
  route: ApiRoute,
): void {
  if (decisionProtocol === 'auth-request') return
  const isEnvoy = decisionProtocol !== 'forward-auth'
  const set = new Set(headers.filter((_, at) => at % 2 === 0))
  const removed = new Set<string>()
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = String(request.rawHeaders[at]).toLowerCase()
    const kind = headerKind(name)
    const isRemoved =
      kind === 'dpop' ||
      ((kind === 'managed' || kind === 'hop') && !(isEnvoy && SET_BY_ENVOY.test(name))) ||
      ((kind === 'authorization' || kind === 'cookie') && !route.forwardsCredentials)
    if (isRemoved && !set.has(name)) removed.add(name)
  }
  if (removed.size > 0)
    headers.push(isEnvoy ? HEADERS_TO_REMOVE : FORWARD_AUTH_REMOVES, [...removed].join(','))
}

/**
 * Adapts a denial to `auth-request`. nginx turns each status except 401 and 403 into 500, and discards the body. The
 * reply therefore has the status 401 or 403, and the exact status and body in two headers.
 */
export function adaptDenial(reply: TextReply): TextReply {
  const body = (reply.body ?? '').trim().replace(NOT_PRINTABLE, escapeCharacter)
  return {
    status: reply.status === 401 ? 401 : 403,
    headers: [...reply.headers, 'x-scopegate-status', String(reply.status), 'x-scopegate-body', body],
    body: reply.body,
  }
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function single(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 ? values[0] : undefined
}

function contradicts(values: readonly string[] | undefined, expected: string): boolean {
  return values?.some((value) => value !== expected) === true
}

function isEmptyBody(lengths: readonly string[] | undefined): boolean {
  return lengths === undefined || (lengths.length === 1 && lengths[0] === '0')
}

function malformed(detail: string): Rejection {
  return { rejected: 'request_malformed', detail }
}
