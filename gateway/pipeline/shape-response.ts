import type { IncomingHttpHeaders } from 'node:http'
import type { HeaderEdit } from '../../policy-engine/decide/header-edit.ts'
import { nominatedHeaders } from '../../policy-engine/match/nominated-headers.ts'
import { isOwnHeader } from '../../policy-engine/match/own-headers.ts'

export type ShapeResponseRules = {
  readonly status: number
  /** Headers of the gateway, appended last: name, value, name, value. */
  readonly added: readonly string[]
  /** Whether the gateway creates the CORS headers of the route. If so, it drops the upstream's CORS headers. */
  readonly ownsCors: boolean
  /** Whether the gateway creates the rate limit headers. If so, it drops the upstream's rate limit headers. */
  readonly ownsRateLimit: boolean
  readonly requestId: string
  /** Header changes of the policy; undefined: no changes. */
  readonly edit?: HeaderEdit | undefined
  readonly closes: boolean
}

/** Hop-by-hop headers. RFC 9110 section 7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const RATE_LIMIT_FIELDS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy'])
const CORS_PREFIX = 'access-control-'

/**
 * Stage 9: builds the headers of the response to the client. Repeated headers such as `Set-Cookie` stay repeated.
 * Reads the upstream headers, the status, `requestId`, the added headers and the header changes of the route.
 * @returns name, value, name, value.
 */
export function shapeResponse(headers: IncomingHttpHeaders, rules: ShapeResponseRules): string[] {
  const shaped: string[] = []
  const nominated = nominatedHeaders(
    headers.connection === undefined ? undefined : String(headers.connection),
  )
  for (const name in headers) {
    if (HOP_BY_HOP.has(name) || nominated.has(name) || isOwnHeader(name)) continue
    // RFC 9110 section 8.6: a 204 response has no content, so a client could wait for the announced bytes.
    if (name === 'content-length' && rules.status === 204) continue
    if (rules.ownsRateLimit && RATE_LIMIT_FIELDS.has(name)) continue
    if (rules.ownsCors && name.startsWith(CORS_PREFIX)) continue
    if (rules.edit?.drops(name) === true) continue
    const value = headers[name]
    if (typeof value === 'string') shaped.push(name, value)
    else if (value !== undefined) for (const one of value) shaped.push(name, one)
  }
  if (rules.edit !== undefined) for (const part of rules.edit.appended) shaped.push(part)
  shaped.push('x-request-id', rules.requestId)
  for (const part of rules.added) shaped.push(part)
  if (rules.closes) shaped.push('connection', 'close')
  return shaped
}
