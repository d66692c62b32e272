import type { IncomingHttpHeaders } from 'node:http'
import type { HeaderEdit } from '../../../policy-engine/decide/header-edit.ts'
import { nominatedHeaders } from '../../../policy-engine/match/nominated-headers.ts'
import { isOwnHeader } from '../../../policy-engine/match/own-headers.ts'

/** Changes to the headers of an upstream response. */
export type ShapeResponseRules = {
  readonly status: number
  /** Ours to say, after everything the upstream said. Name, value, name, value. */
  readonly added: readonly string[]
  /** Whether this gateway answers preflights for the route, and so speaks for the upstream about origins. */
  readonly ownsCors: boolean
  /** Whether the gateway sends rate limit headers, so that those of the upstream are dropped. */
  readonly ownsRateLimit: boolean
  readonly requestId: string
  /** Changes of the policy; undefined: none. */
  readonly edit?: HeaderEdit | undefined
  /** The client's connection ends after this answer. */
  readonly closes: boolean
}

/** Headers of one connection. RFC 9110 section 7.6.1. */
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
 * Stage 9: the headers that the client gets. Repeated ones such as `Set-Cookie` stay repeated.
 * @returns name, value, name, value.
 */
export function shapeResponse(headers: IncomingHttpHeaders, rules: ShapeResponseRules): string[] {
  const shaped: string[] = []
  const nominated = nominatedHeaders(
    headers.connection === undefined ? undefined : String(headers.connection),
  )
  for (const name in headers) {
    if (HOP_BY_HOP.has(name) || nominated.has(name) || isOwnHeader(name)) continue
    // RFC 9110 section 8.6: a length here makes a client wait for content that there is not.
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
