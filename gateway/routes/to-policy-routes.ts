import { parseByteSize } from '../../runtime/byte-size.ts'
import { parseDurationMs } from '../../runtime/duration.ts'
import type { YamlDocument } from '../../runtime/yaml-document.ts'
import type { RateLimitRule } from '../limits/rate-limit.ts'
import type { RetryRule } from '../upstreams/retry-rule.ts'
import type { HeaderValue } from './header-rules.ts'
import type { PolicyFile } from './policy-file.ts'
import type { PolicyRoute, ScopeRule } from './policy-route.ts'
import { toConditions } from './to-conditions.ts'

type RouteEntry = PolicyFile['routes'][number]

/** Turns a checked file into routes: defaults filled in, durations and sizes as numbers, frozen. */
export function toPolicyRoutes(file: PolicyFile, document: YamlDocument): readonly PolicyRoute[] {
  return file.routes.map((route, index) => {
    const { file: shownAs, line, column } = document.placeOf(['routes', index])
    const timeout = route.timeout ?? file.defaults?.timeout
    const idleTimeout = route.idleTimeout ?? file.defaults?.idleTimeout
    return Object.freeze({
      name: `${file.name}/${route.name}`,
      policy: file.name,
      owner: file.owner,
      methods: Object.freeze([...route.match.methods]),
      path: route.match.path,
      matchHeaders: toMatchHeaders(route.match.headers),
      scopes: toScopeRule(route),
      // Served without identity unless a policy says otherwise: the service's public contract asks for it.
      anonymous: route.anonymous ?? file.defaults?.anonymous ?? 'allow',
      when: toConditions(route.when, { index, document }),
      enforce: route.enforce ?? file.defaults?.enforce ?? 'on',
      upstream: file.upstream,
      rateLimit: toRateLimit(route.rateLimit ?? file.defaults?.rateLimit),
      rewritePath: route.rewrite?.path,
      timeoutMs: timeout === undefined ? undefined : parseDurationMs(timeout),
      idleTimeoutMs: idleTimeout === undefined ? undefined : parseDurationMs(idleTimeout),
      retries: toRetryRule(route.retries ?? file.defaults?.retries),
      bodyLimitBytes: route.bodyLimit === undefined ? undefined : parseByteSize(route.bodyLimit),
      websocket: route.websocket ?? false,
      upstreamAuth: route.upstreamAuth ?? file.defaults?.upstreamAuth ?? 'none',
      headers: undefined,
      preset: undefined,
      source: Object.freeze({ file: shownAs, line: line ?? 1, column: column ?? 1 }),
    })
  })
}

function toRetryRule(retries: RouteEntry['retries']): RetryRule | undefined {
  if (retries === undefined) return undefined
  return Object.freeze({ attempts: retries.attempts, on: Object.freeze([...retries.on]) })
}

function toRateLimit(limit: RouteEntry['rateLimit']): RateLimitRule | undefined {
  if (limit === undefined) return undefined
  const { requests, per, by } = limit
  return Object.freeze({ requests, perMs: parseDurationMs(per) ?? 0, by })
}

/** Sorted, so that two routes that ask for the same say it in the same way. */
function toMatchHeaders(headers: RouteEntry['match']['headers']): readonly HeaderValue[] {
  const values = Object.entries(headers ?? {}).map(([name, value]) => ({ name: name.toLowerCase(), value }))
  return Object.freeze(values.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
}

function toScopeRule(route: RouteEntry): ScopeRule | undefined {
  if (route.scopes === undefined) return undefined
  const { all, any, advertise } = route.scopes
  return Object.freeze({
    all: Object.freeze([...(all ?? [])]),
    any: Object.freeze([...(any ?? [])]),
    ...(advertise === undefined ? {} : { advertise }),
  })
}
