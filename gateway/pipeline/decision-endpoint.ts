import { type IncomingMessage, METHODS } from 'node:http'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { canonicalRequest } from '../../policy-engine/match/canonical-request.ts'
import type { DecisionProtocol } from '../config/gateway-config.ts'
import { normalizeIp } from '../server/client-address.ts'
import type { CanonicalContext, MatchedContext, RequestContext, StageResult } from './request-context.ts'
import type { LocalReply } from './send-reply.ts'

type HeaderFamily = { readonly method: string; readonly target: string }

const FAMILIES: Readonly<Record<DecisionProtocol, HeaderFamily>> = {
  'auth-request': { method: 'x-original-method', target: 'x-original-uri' },
  'forward-auth': { method: 'x-forwarded-method', target: 'x-forwarded-uri' },
}
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
/** The gateway cannot apply this route without forwarding the request, so the route does not exist for the ingress. */
const NOT_DECIDABLE: Rejection = Object.freeze({ rejected: 'route_unknown' })
const NOT_PRINTABLE = /[^\x20-\x7e]/g

/** Method and target of the request that the ingress received. Both are unchecked client input. */
type OriginalRequest = { readonly method: string; readonly target: string }

/**
 * Reads the method and the target of the original request from the headers of the ingress. Pure. No value is guessed:
 * a missing, repeated, unknown or contradictory value is a rejection.
 * @returns the original request, or `request_malformed` (400).
 */
export function readOriginalRequest(
  { headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>,
  protocol: DecisionProtocol,
): OriginalRequest | Rejection {
  const { method: methodName, target: targetName } = FAMILIES[protocol]
  const method = single(headersDistinct[methodName])
  const target = single(headersDistinct[targetName])
  if (method === undefined || target === undefined)
    return malformed(`The ingress must send exactly one ${methodName} header and one ${targetName} header.`)
  if (!KNOWN_METHODS.has(method)) return malformed('The original method is unknown.')
  if (!target.startsWith('/')) return malformed('The original target must be a path.')
  const other = FAMILIES[protocol === 'auth-request' ? 'forward-auth' : 'auth-request']
  if (
    contradicts(headersDistinct[other.method], method) ||
    contradicts(headersDistinct[other.target], target)
  )
    return malformed('The headers with the original method and target contradict each other.')
  if (headersDistinct['transfer-encoding'] !== undefined || !isEmptyBody(headersDistinct['content-length']))
    return malformed('A request for a decision must not have a body.')
  return { method, target }
}

/**
 * Creates the first stage of the decision endpoint. The stage replaces `canonicalize`.
 * Reads `request`. Sets `method` and `canonical`.
 * @returns the rejection `request_malformed` (400) or `target_too_long` (414).
 */
export function createCanonicalizeOriginal(protocol: DecisionProtocol) {
  return (context: RequestContext): Rejection | undefined => {
    const { request, services } = context
    context.method = '' // the metrics must not count the method of the ingress
    if (services.trustedProxies?.has(normalizeIp(request.socket.remoteAddress)) !== true)
      return malformed('Only the addresses in trustedProxies can ask for a decision.')
    const original = readOriginalRequest(request, protocol)
    if ('rejected' in original) return original
    context.method = original.method
    const { rawHeaders, httpVersion } = request
    const { method, target } = original
    const canonical = canonicalRequest({ method, url: target, rawHeaders, httpVersion }, services.targetRules)
    if ('rejected' in canonical) return canonical
    context.canonical = canonical
    return undefined
  }
}

/**
 * Creates the stage that finds the route of the original request with `matchRoute`. A local reply, such as a document or
 * the response to OPTIONS, would mean "allowed" to the ingress. The stage therefore rejects these requests. It also
 * rejects routes that the gateway cannot apply without forwarding: routes of the authorization server, and routes with
 * header rules or WebSockets.
 * Reads and sets the same fields as `matchRoute`.
 * @returns the rejection `route_unknown` (404), `method_not_allowed` (405) or `policy_unavailable` (503).
 */
export function decidableOnly(matchRoute: (context: CanonicalContext) => StageResult) {
  return (context: CanonicalContext): Rejection | undefined => {
    const result = matchRoute(context)
    if (result !== undefined) return 'rejected' in result ? result : NOT_DECIDABLE
    const { route } = context
    const isDecidable = route?.kind === 'api' && route.requestHeaders === undefined && !route.websocket
    return isDecidable ? undefined : NOT_DECIDABLE
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
  headers.push(...context.policyHeaders, ...context.rateHeaders, ...context.nonceHeaders)
  return { status: 200, headers, body: undefined }
}

/**
 * Adapts a denial to the ingress. nginx turns each status except 401 and 403 into 500, and discards the body. The
 * reply therefore has the status 401 or 403, and the exact status and body in two headers.
 */
export function adaptDenial(reply: LocalReply, protocol: DecisionProtocol): LocalReply {
  if (protocol === 'forward-auth') return reply
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
