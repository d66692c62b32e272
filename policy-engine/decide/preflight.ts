import { allowsHeader, allowsOrigin, type PolicyRoute } from '../load/policy-route.ts'
import type { HeaderSource } from '../match/find-header.ts'

/** Request that a browser announces in a CORS preflight. */
export type Preflight = {
  readonly origin: string | undefined
  /** Value of `Access-Control-Request-Method`. */
  readonly method: string
  /** Valid names in `Access-Control-Request-Headers`, in lower case. */
  readonly headers: readonly string[]
}

export type PreflightDecision = {
  /** Value of `Access-Control-Allow-Origin`. undefined: the page may not use the method. */
  readonly origin: string | undefined
  readonly methods: readonly string[]
  readonly headers: readonly string[]
}

/**
 * Matches a header name in the list of a preflight. RFC 9110 sections 5.1 and 5.6.1. Does not match `*` alone, which
 * would be a wildcard.
 */
const HEADER_NAME = /^[ \t]*(?!\*[ \t]*$)([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})[ \t]*$/
const MAX_HEADER_NAMES = 64

/**
 * Returns the value of a header that browsers send only once. Returns undefined if the header is absent or ambiguous.
 */
export function readBrowserHeader(request: HeaderSource, name: string): string | undefined {
  const value = request.header(name)
  return typeof value === 'string' ? value : undefined
}

/**
 * Parses a CORS preflight, which does not need a token. Reads at most 64 header names.
 * Ignores headers that are nominated in `Connection`, repeated, or spelled in another way.
 * Source: Fetch, CORS-preflight request.
 * @param request end-to-end headers of the request.
 * @returns undefined if the request is not a CORS preflight.
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
 * Decides on a preflight.
 * A preflight does not contain header values, so any route of the method and path may allow the preflight. If no route
 * has the method, `cors` does not restrict the preflight. The list of methods in the response then shows that the
 * method is wrong.
 * @param routes routes of the path by method.
 * @param methods all methods of the path.
 */
export function decidePreflight(
  { origin, method, headers }: Preflight,
  routes: ReadonlyMap<string, readonly { readonly policy?: Pick<PolicyRoute, 'cors'> }[]>,
  methods: readonly string[],
): PreflightDecision {
  const allowing = (one: string) =>
    (routes.get(one)?.map(({ policy }) => policy?.cors) ?? NO_LIMIT).filter((rule) =>
      allowsOrigin(rule, origin, one),
    )
  const allowed = allowing(method)
  if (allowed.length === 0) return NOT_ALLOWED
  return {
    origin: allowed.some((rule) => rule?.origins === undefined) ? '*' : origin,
    methods: methods.filter((one) => allowing(one).length > 0),
    headers: headers.filter((name) => allowed.some((rule) => allowsHeader(rule, name))),
  }
}
