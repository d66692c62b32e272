import type { PolicyRoute } from '../load/policy-route.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import { canonicalTarget } from '../match/canonical-target.ts'
import type { Rewrite } from './compile-rewrite.ts'
import type { Refusal } from './refusal.ts'

type LimitedRequest = {
  readonly method: string
  readonly canonical: CanonicalRequest
  readonly params: Readonly<Record<string, string>>
}

type LimitedRoute = {
  readonly bodyLimitBytes: number
  readonly rewrite?: Rewrite | undefined
  /** The upstream path without a `rewrite`; undefined: the path of the request. */
  readonly upstreamPath?: string | undefined
}

/** Returns the body limit of a route: its own, or the default of the gateway. Bytes. */
export function bodyLimitOf({ bodyLimitBytes }: PolicyRoute, defaultBytes: number): number {
  return bodyLimitBytes ?? defaultBytes
}

/**
 * Checks the announced length of the body, and builds the path of the upstream request. Pure.
 * `gateway/upstreams/request-body.ts` counts the bytes of a body without an announced length.
 * @param targetLimitBytes maximum length of a rewritten path.
 * @returns the upstream path, or `body_too_large`, `request_malformed` or `target_too_long`.
 */
export function checkLimits(
  { method, canonical, params }: LimitedRequest,
  { bodyLimitBytes, rewrite, upstreamPath }: LimitedRoute,
  targetLimitBytes: number,
): string | Refusal {
  if (canonical.headers.contentLength > bodyLimitBytes)
    return { refused: 'body_too_large', limitBytes: bodyLimitBytes }
  if (rewrite === undefined) return upstreamPath ?? canonical.path
  return rewritePath(rewrite(params), method, targetLimitBytes)
}

/** Accepts only a canonical path, so parameters of the request cannot lead out of the base path of the upstream. */
function rewritePath(path: string, method: string, limitBytes: number): string | Refusal {
  const target = canonicalTarget(path, { method, origin: '', limitBytes })
  if ('refused' in target) return target
  if (target.path === path && target.query === '') return path
  return { refused: 'request_malformed', detail: 'The path cannot be rewritten unambiguously.' }
}
