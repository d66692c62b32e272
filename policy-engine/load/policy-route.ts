import type { RateLimitRule } from '../format/rate-limit.ts'
import type { RetryRule } from '../format/retry-rule.ts'
import type { Condition } from './condition.ts'
import type { CorsRule } from './cors-rule.ts'
import type { HeaderRules, HeaderValue } from './header-rules.ts'

/** Which scopes a caller needs: every one of `all`, and one of `any` when it is not empty. */
export type ScopeRule = {
  readonly all: readonly string[]
  readonly any: readonly string[]
  /** The one of `any` that callers are told to ask for; undefined: the first. */
  readonly advertise?: string
}

/** What happens to a request without a token: served without identity, challenged, or refused without hints. */
export type AnonymousRule = 'allow' | 'challenge' | 'deny'

/**
 * `none`: the plain identity headers only; `assertion`: a signed statement as well; `forward`: the caller's own
 * `Authorization`.
 */
export type UpstreamAuth = 'none' | 'assertion' | 'forward'

/** `report`: what the policy would refuse is logged and counted, and served all the same. */
export type EnforceRule = 'on' | 'report'

/** One route of a policy file, with the policy's defaults filled in. Frozen. */
export type PolicyRoute = {
  /** `<policy>/<route>`, e.g. `courses/list-courses`. */
  readonly name: string
  readonly policy: string
  /** Who gets asked about it. */
  readonly owner: string | undefined
  /** As written; HEAD follows GET in the route table. */
  readonly methods: readonly string[]
  /** Literal segments, `{param}`, and at most one `**` at the end. With the mount. */
  readonly path: string
  /** Headers that a request has to bring, each once and with exactly this value; sorted by name. */
  readonly matchHeaders: readonly HeaderValue[]
  /** undefined: a token is optional. */
  readonly scopes: ScopeRule | undefined
  readonly anonymous: AnonymousRule
  /** What the token's claims have to be like; every one of them must hold. */
  readonly when: readonly Condition[]
  readonly enforce: EnforceRule
  /** Names an entry of `config/upstreams.yaml`. */
  readonly upstream: string
  /** Template of the path that the upstream is asked for; undefined: the one that was matched. */
  readonly rewritePath: string | undefined
  /** The prefix of `path` that the upstream does not get; undefined without one, and with a `rewrite`. */
  readonly mount: string | undefined
  /** How often a caller may ask; undefined: as often as it likes. */
  readonly rateLimit: RateLimitRule | undefined
  readonly timeoutMs: number | undefined
  /** Longest silence inside an answer. */
  readonly idleTimeoutMs: number | undefined
  /** undefined: a request is sent once. */
  readonly retries: RetryRule | undefined
  readonly bodyLimitBytes: number | undefined
  /** Whether a GET may become a WebSocket. */
  readonly websocket: boolean
  /** How the upstream learns who calls, beyond the plain headers. */
  readonly upstreamAuth: UpstreamAuth
  /** What becomes of headers on both ways; undefined: nothing. */
  readonly headers: HeaderRules | undefined
  /** Which pages of other origins may call it; undefined: all. */
  readonly cors: CorsRule | undefined
  /** The preset of config/presets.yaml that it extends. */
  readonly preset: string | undefined
  /** Where the route stands: the line of its first key. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
}
