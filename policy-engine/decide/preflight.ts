import { allowsHeader, allowsOrigin, type CorsRule } from '../load/cors-rule.ts'
import type { HeaderSource } from '../match/find-header.ts'

/** The request that a browser asks about. */
export type Preflight = {
  readonly origin: string | undefined
  /** The value of `Access-Control-Request-Method`. */
  readonly method: string
  /** The valid names of `Access-Control-Request-Headers`, in lower case. */
  readonly headers: readonly string[]
}

/** What a page may send. */
export type PreflightDecision = {
  /** The value of `Access-Control-Allow-Origin`; undefined: the page may not use the method. */
  readonly origin: string | undefined
  readonly methods: readonly string[]
  readonly headers: readonly string[]
}

/** RFC 9110 sections 5.1 and 5.6.1. `*` alone would be a wildcard. */
const HEADER_NAME = /^[ \t]*(?!\*[ \t]*$)([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})[ \t]*$/
const MAX_HEADER_NAMES = 64

/** Returns the value of a header that a browser sends once; undefined when it is absent or unclear. */
export function readBrowserHeader(request: HeaderSource, name: string): string | undefined {
  const value = request.header(name)
  return typeof value === 'string' ? value : undefined
}

/**
 * Reads a CORS preflight, which needs no token. A header that is nominated in `Connection`, repeated or spelled in another
 * way does not count. At most 64 header names are read. Source: Fetch, CORS-preflight request.
 * @param request its end-to-end headers.
 * @returns undefined for any other request.
 */
export function readPreflight(method: string, request: HeaderSource): Preflight | undefined {
  if (method !== 'OPTIONS') return undefined
  const asked = readBrowserHeader(request, 'access-control-request-method')
  if (asked === undefined) return undefined
  const names = readBrowserHeader(request, 'access-control-request-headers') ?? ''
  return {
    origin: readBrowserHeader(request, 'origin'),
    method: asked,
    headers: names
      .split(',', MAX_HEADER_NAMES)
      .flatMap((part) => HEADER_NAME.exec(part)?.[1]?.toLowerCase() ?? []),
  }
}

const NOT_ALLOWED: PreflightDecision = Object.freeze({ origin: undefined, methods: [], headers: [] })
const NO_LIMIT: readonly undefined[] = [undefined]

/**
 * Decides on a preflight. A preflight does not tell the values of headers, so of several routes with one method and path each
 * may allow it. A method without a route has no limit: the list of methods then tells the page what is wrong.
 * @param routes the routes of the path by their methods.
 * @param options.methods every method of the path.
 */
export function decidePreflight<T>(
  { origin, method, headers }: Preflight,
  routes: ReadonlyMap<string, readonly T[]>,
  options: {
    readonly methods: readonly string[]
    readonly ruleOf: (route: T) => CorsRule | undefined
  },
): PreflightDecision {
  const { methods, ruleOf } = options
  const allowing = (one: string) =>
    (routes.get(one)?.map(ruleOf) ?? NO_LIMIT).filter((rule) => allowsOrigin(rule, origin, one))
  const allowed = allowing(method)
  if (allowed.length === 0) return NOT_ALLOWED
  return {
    origin: allowed.some((rule) => rule?.origins === undefined) ? '*' : origin,
    methods: methods.filter((one) => allowing(one).length > 0),
    headers: headers.filter((name) => allowed.some((rule) => allowsHeader(rule, name))),
  }
}
