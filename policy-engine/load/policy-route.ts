import type { RateLimitRule } from '../format/rate-limit.ts'
import type { RetryRule } from '../format/retry-rule.ts'
import type { Condition } from './condition.ts'
import type { CorsRule } from './cors-rule.ts'
import type { HeaderRules, HeaderValue } from './header-rules.ts'

/** Required scopes: all scopes of `all`, and at least one scope of `any` unless `any` is empty. */
export type ScopeRule = {
  readonly all: readonly string[]
  readonly any: readonly string[]
  /** Scope of `any` that challenges advertise. Default: the first scope of `any`. */
  readonly advertise?: string
}

/** Handling of requests without a token: forward without identity, reject with a challenge, or reject without hints. */
export type AnonymousRule = 'allow' | 'challenge' | 'deny'

/**
 * Identity information for the upstream. `none`: only the plain identity headers. `assertion`: also a signed JWT.
 * `forward`: also the `Authorization` header of the caller.
 */
export type UpstreamAuth = 'none' | 'assertion' | 'forward'

/** `report` (audit-only): the gateway logs and counts denials of the policy, and forwards the request. */
export type EnforceRule = 'on' | 'report'

/** One route of a policy file, with the defaults of the policy applied. Frozen. */
export type PolicyRoute = {
  /** `<policy>/<route>`, e.g. `courses/list-courses`. */
  readonly name: string
  readonly policy: string
  /** Contact for questions about the policy. */
  readonly owner: string | undefined
  /** Methods as in the file. The route table derives HEAD from GET. */
  readonly methods: readonly string[]
  /** Path template with the mount: literal segments, `{param}`, and at most one `**` at the end. */
  readonly path: string
  /** Required request headers, each exactly once and with exactly this value. Sorted by name. */
  readonly matchHeaders: readonly HeaderValue[]
  /** undefined: the route does not require scopes. */
  readonly scopes: ScopeRule | undefined
  readonly anonymous: AnonymousRule
  /** Conditions on the claims of the token. All conditions must hold. */
  readonly when: readonly Condition[]
  readonly enforce: EnforceRule
  /** Name of an entry in `config/upstreams.yaml`. */
  readonly upstream: string
  /** Template of the upstream path. undefined: the matched path. */
  readonly rewritePath: string | undefined
  /** Prefix of `path` that the upstream does not receive. undefined without a mount or with a `rewrite`. */
  readonly mount: string | undefined
  /** undefined: no limit. */
  readonly rateLimit: RateLimitRule | undefined
  readonly timeoutMs: number | undefined
  /** How long a response may stall on the upstream or client side. */
  readonly idleTimeoutMs: number | undefined
  /** undefined: the gateway does not retry requests. */
  readonly retries: RetryRule | undefined
  readonly bodyLimitBytes: number | undefined
  readonly websocket: boolean
  readonly upstreamAuth: UpstreamAuth
  /** Changes to request and response headers. undefined: no changes. */
  readonly headers: HeaderRules | undefined
  /** undefined: pages of all origins may call the route. */
  readonly cors: CorsRule | undefined
  readonly preset: string | undefined
  /** Location of the first key of the route. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
}
