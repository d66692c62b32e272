import type { IncomingHttpHeaders } from 'node:http'
import { nominatedHeaders } from '../../policy-engine/match/clean-headers.ts'
import { foldHeaderName, isOwnHeader } from '../../policy-engine/match/header-kind.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { corsOf } from './cors-headers.ts'
import type { ForwardableContext } from './request-context.ts'

/** Hop-by-hop headers. RFC 9110 section 7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const RATE_LIMIT_FIELDS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy'])
const CHALLENGE = 'www-authenticate'
const CORS_PREFIX = 'access-control-'
const SWITCHING_PROTOCOLS = 101

/**
 * Returns whether the upstream authenticates only the gateway. Its challenges then do not concern the token of the
 * caller.
 */
export function authenticatesGateway({ route, services }: ForwardableContext): boolean {
  const credential = services.forwards ? route.upstream.credential : undefined
  if (credential === undefined) return false
  return route.kind !== 'api' || !route.forwardsCredentials || credential.foldedName === 'authorization'
}

/**
 * Builds the headers of the response to the client from the headers of the upstream. Repeated headers such as
 * `Set-Cookie` stay repeated. On a route of a policy, drops the upstream's CORS headers and applies the header changes
 * of the policy. On a route with a rate limit, drops the upstream's rate limit headers. Drops headers that repeat the
 * credential of the gateway at the upstream, and challenges that concern this credential. Appends the gateway's own
 * headers last. A 101 response gets no CORS headers.
 * Reads `request`, `canonical`, `route`, `requestId`, `rate`, `rateHeaders`, `policyHeaders` and `nonceHeaders`. Sets
 * nothing.
 * @returns name, value, name, value.
 */
export function shapeResponse(
  context: ForwardableContext,
  status: number,
  headers: IncomingHttpHeaders,
): string[] {
  const { route } = context
  const isUpgrade = status === SWITCHING_PROTOCOLS
  const closes = !isUpgrade && context.services.responder.shouldClose(context)
  const ownsCors = route.kind === 'api'
  const ownsRateLimit = context.rate !== undefined
  // In a server of another framework, a route can have no upstream.
  const credential = (route.upstream as Upstream | undefined)?.credential
  const dropsChallenges = authenticatesGateway(context)
  const edit = route.kind === 'api' ? route.responseHeaders : undefined
  const shaped: string[] = []
  const nominated = nominatedHeaders(
    headers.connection === undefined ? undefined : String(headers.connection),
  )
  for (const name in headers) {
    if (HOP_BY_HOP.has(name) || nominated.has(name) || isOwnHeader(name)) continue
    // RFC 9110 section 8.6: a 204 response has no content. Because of `content-length`, a client could wait for
    // content.
    if (name === 'content-length' && status === 204) continue
    if (ownsRateLimit && RATE_LIMIT_FIELDS.has(name)) continue
    if (ownsCors && name.startsWith(CORS_PREFIX)) continue
    if (dropsChallenges && name === CHALLENGE) continue
    if (edit?.drops(name) === true) continue
    if (credential !== undefined && foldHeaderName(name) === credential.foldedName) continue
    const value = headers[name]
    if (typeof value === 'string') {
      if (credential?.reveals(value) !== true) shaped.push(name, value)
    } else if (value !== undefined)
      for (const one of value) if (credential?.reveals(one) !== true) shaped.push(name, one)
  }
  if (edit !== undefined) for (const part of edit.appended) shaped.push(part)
  shaped.push('x-request-id', context.requestId)
  if (ownsCors && !isUpgrade) for (const part of corsOf(context)) shaped.push(part)
  for (const part of context.policyHeaders) shaped.push(part)
  for (const part of context.rateHeaders) shaped.push(part)
  for (const part of context.nonceHeaders) shaped.push(part)
  if (closes) shaped.push('connection', 'close')
  return shaped
}
