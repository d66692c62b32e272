import type { RateLimitRule } from '../format/rate-limit.ts'
import type { RetryRule } from '../format/retry-rule.ts'
import type { SharedLimit } from '../format/shared-limits.ts'

/** Required scopes: all scopes of `all`, and at least one scope of `any` unless `any` is empty. */
export type ScopeRule = {
  readonly all: readonly string[]
  readonly any: readonly string[]
  /** Scope of `any` that challenges advertise. Default: the first scope of `any`. */
  readonly advertise?: string
}

/** Handling of requests without a token: forward without identity, reject with a challenge, or reject without hints. */
export type AnonymousRule = 'allow' | 'challenge' | 'deny'

/** Required sign-in of the person. RFC 9470. At least one of the fields sets a requirement. */
export type AuthenticationRule = {
  /** Accepted values of the claim `acr`. The first value is the preferred value. An empty list accepts every value. */
  readonly acr: readonly string[]
  /** Maximum time since the sign-in (claim `auth_time`). undefined: no limit. */
  readonly maxAgeSeconds: number | undefined
}

/**
 * Identity information for the upstream. `none`: only the plain identity headers. `assertion`: these headers and a
 * signed JWT. `forward`: these headers, and the `Authorization` and `Cookie` headers of the caller.
 */
type UpstreamAuth = 'none' | 'assertion' | 'forward'

/** `report` (audit-only): the gateway logs and counts denials of the policy, and forwards the request. */
export type EnforceRule = 'on' | 'report'

/** One route of a policy file, with the defaults of the policy applied. Frozen. */
export type PolicyRoute = {
  /** `<policy>/<route>`, e.g. `courses/list-courses`. With policy sources: `<source>/<policy>/<route>`. */
  readonly name: string
  readonly policy: string
  /** Contact for questions about the policy. */
  readonly owner: string | undefined
  /** Name of the policy source. Absent without policy sources. */
  readonly policySource?: string
  /** Path prefixes of other policy sources that `path` also matches. The route does not serve these paths. */
  readonly excludedPrefixes?: readonly string[]
  /** Whether another policy source may use the service of the upstream. Absent without policy sources. */
  readonly sharesUpstream?: boolean
  /** Methods as in the file. For HEAD, the route table also uses routes with GET. */
  readonly methods: readonly string[]
  /** Path template with the mount: literal segments, `{param}`, and at most one `**` at the end. */
  readonly path: string
  /** Required request headers. Each header must occur exactly once and with exactly this value. Sorted by name. */
  readonly matchHeaders: readonly HeaderValue[]
  /** Required scopes. undefined: the route does not require scopes. */
  readonly scopes: ScopeRule | undefined
  readonly anonymous: AnonymousRule
  /** Required sign-in of the person. undefined: the route accepts every sign-in. */
  readonly authentication: AuthenticationRule | undefined
  /** Conditions on the claims of the token. All conditions must hold. */
  readonly when: readonly Condition[]
  readonly enforce: EnforceRule
  /**
   * Name of an entry in `config/upstreams.yaml`. With policy sources, also `<source>/<name>` for an upstream that the
   * source defines. undefined: only the decision endpoint serves the route.
   */
  readonly upstream: string | undefined
  /** Template of the upstream path. undefined: the matched path. */
  readonly rewritePath: string | undefined
  /** Prefix of `path` that the gateway removes before it forwards. undefined without a mount or with a `rewrite`. */
  readonly mount: string | undefined
  /** Rate limit of the route. undefined: no limit. */
  readonly rateLimit: RateLimitRule | undefined
  /** Limits that the route shares with other routes. Absent without such limits. */
  readonly sharedLimits?: readonly SharedLimit[]
  readonly timeoutMs: number | undefined
  /** Maximum time without progress of a response, on the upstream or client side. Milliseconds. */
  readonly idleTimeoutMs: number | undefined
  /** Rule for retries. undefined: the gateway does not retry requests. */
  readonly retries: RetryRule | undefined
  readonly bodyLimitBytes: number | undefined
  readonly websocket: boolean
  /** Handling of the MCP messages of POST requests. Absent: the gateway does not read bodies. */
  readonly mcp?: McpRule
  readonly upstreamAuth: UpstreamAuth
  /** Changes to request and response headers. undefined: no changes. */
  readonly headers: HeaderRules | undefined
  /** Limits for pages of other origins. undefined: pages of every origin may call the route. */
  readonly cors: CorsRule | undefined
  readonly preset: string | undefined
  /** Location of the first key of the route. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
}

export type McpRule = {
  /** The gateway reads the method and the name of a call from the body. */
  readonly readBody: true
  /** The gateway removes the tools that the caller may not use from the response to `tools/list`. */
  readonly filterTools?: true
}

/** Returns whether the gateway can respond 429 to requests of a caller because of their number. */
export function isRateLimited({ rateLimit, sharedLimits }: PolicyRoute): boolean {
  return rateLimit !== undefined || sharedLimits !== undefined
}

/** Literal value in a policy. Comparisons do not convert types: 1 is not "1". */
export type Literal = string | number | boolean

/** Reference to a request value: `{path.x}`, `{header.x}` (in lower case) or `{query.x}`. The value is always text. */
export type RequestValue = { readonly from: 'path' | 'header' | 'query'; readonly name: string }

/** Value with which a claim is compared. Plain data that JSON can represent. */
export type Operand = Literal | RequestValue

/** Test of a claim. A list claim passes `equals`, `in` and `matches` if one of its members passes. */
export type ConditionTest =
  | { readonly equals: Operand }
  | { readonly in: readonly Operand[] }
  /** Glob: `*` matches any number of characters. All other characters match literally. */
  | { readonly matches: string }
  | { readonly exists: boolean }

export type Condition = {
  /** Claim name or, if it starts with `/`, the JSON pointer (RFC 6901) to a nested claim. */
  readonly claim: string
  readonly test: ConditionTest
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
}

/** Limits on the pages of other origins that may call a route from a browser. undefined: no limit. */
export type CorsRule = {
  readonly origins?: readonly string[]
  /** Methods that the pages may use. GET includes HEAD. */
  readonly methods?: readonly string[]
  /** Names of request headers in lower case. */
  readonly headers?: readonly string[]
}

export function allowsMethod(rule: CorsRule | undefined, method: string): boolean {
  const methods = rule?.methods
  return methods === undefined || methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Returns whether a page of `origin` may call the route with `method`. */
export function allowsOrigin(
  rule: CorsRule | undefined,
  origin: string | undefined,
  method: string,
): boolean {
  const origins = rule?.origins
  return (
    (origins === undefined || (origin !== undefined && origins.includes(origin))) &&
    allowsMethod(rule, method)
  )
}

/** Returns whether a page may set a request header. `name` is in lower case. */
export function allowsHeader(rule: CorsRule | undefined, name: string): boolean {
  return rule?.headers === undefined || rule.headers.includes(name)
}

/** Header name in lower case, and one value. */
export type HeaderValue = { readonly name: string; readonly value: string }

/** Changes to headers. Order: `remove`, then `set` (replaces existing values), then `add` (keeps existing values). */
export type HeaderChanges = {
  readonly set: readonly HeaderValue[]
  readonly add: readonly HeaderValue[]
  /** Names of the headers to remove, in lower case. */
  readonly remove: readonly string[]
}

/** The `headers` of a policy: changes to requests for the upstream, and to its responses. */
export type HeaderRules = { readonly request: HeaderChanges; readonly response: HeaderChanges }
