import type { PolicyRoute } from '../load/policy-route.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import { canonicalTarget } from '../match/canonical-target.ts'
import { parsePathTemplate } from '../match/path-template.ts'
import type { Rejection } from './rejection.ts'

type LimitedRequest = {
  readonly method: string
  readonly canonical: CanonicalRequest
  readonly params: Readonly<Record<string, string>>
}

type LimitedRoute = {
  readonly bodyLimitBytes: number
  readonly rewrite?: Rewrite | undefined
  /** Path of the upstream request for a route without `rewrite`. Default: the path of the request. */
  readonly upstreamPath?: string | undefined
}

/** Returns the body limit of a route. Default: the body limit of the gateway. Bytes. */
export function bodyLimitOf({ bodyLimitBytes }: PolicyRoute, defaultBytes: number): number {
  return bodyLimitBytes ?? defaultBytes
}

/**
 * Checks the announced length of the body, and builds the path of the upstream request. Pure.
 * For a body without an announced length, `gateway/upstreams/request-body.ts` counts the bytes.
 * @param targetLimitBytes maximum length of a rewritten path.
 * @returns the upstream path, or `body_too_large`, `request_malformed` or `target_too_long`.
 */
export function checkLimits(
  { method, canonical, params }: LimitedRequest,
  { bodyLimitBytes, rewrite, upstreamPath }: LimitedRoute,
  targetLimitBytes: number,
): string | Rejection {
  if (canonical.headers.contentLength > bodyLimitBytes)
    return { rejected: 'body_too_large', limitBytes: bodyLimitBytes }
  if (rewrite === undefined) return upstreamPath ?? canonical.path
  return rewritePath(rewrite(params), method, targetLimitBytes)
}

/**
 * Accepts only a canonical path. Otherwise, parameters of the request could select a path outside of the base path of
 * the upstream.
 */
function rewritePath(path: string, method: string, limitBytes: number): string | Rejection {
  const target = canonicalTarget(path, { method, origin: '', limitBytes })
  if ('rejected' in target) return target
  if (target.path === path && target.query === '') return path
  return { rejected: 'request_malformed', detail: 'The path cannot be rewritten unambiguously.' }
}

/** Builds the path of the upstream request from the path parameters of the request. */
export type Rewrite = (params: Readonly<Record<string, string>>) => string

/**
 * Compiles the path of a `rewrite`. Inserts parameters as in the canonical path, without decoding.
 * `**` inserts the text that `**` of the route matched, including a trailing slash.
 * @throws {Error} on a malformed template, which `loadPolicies()` reports earlier, with its location.
 */
export function compileRewrite(path: string): Rewrite {
  const template = parsePathTemplate(path)
  if ('problem' in template) throw new Error(`rewrite path "${path}": ${template.problem}`)
  const { segments, below } = template
  return (params) => {
    let built = ''
    for (const segment of segments)
      built += `/${'parameter' in segment ? (params[segment.parameter] ?? '') : segment.literal}`
    const rest = below ? params['**'] : undefined
    if (rest !== undefined) built += `/${rest}`
    return built === '' ? '/' : built
  }
}
