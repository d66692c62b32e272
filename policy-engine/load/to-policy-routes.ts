import { parseByteSize } from '../../platform/diagnostics/schema/byte-size.ts'
import { parseDurationMs } from '../../platform/diagnostics/schema/duration.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { PolicyFile } from '../format/policy-file.ts'
import type { Presets } from '../format/presets.ts'
import type { RateLimitRule } from '../format/rate-limit.ts'
import type { RetryRule } from '../format/retry-rule.ts'
import { parseMount } from './mount.ts'
import type { PolicyRoute, ScopeRule } from './policy-route.ts'
import { toConditions } from './to-conditions.ts'
import { toCorsRule } from './to-cors-rule.ts'
import { toHeaderRules, toHeaderValues } from './to-header-rules.ts'

type RouteEntry = PolicyFile['routes'][number]
/** Settings of a route, merged with the defaults of its policy and with its preset. */
type Settings = NonNullable<PolicyFile['defaults']>

/** Converts a validated file to frozen routes. Applies defaults and presets, and parses durations and sizes. */
export function toPolicyRoutes(
  file: PolicyFile,
  document: YamlDocument,
  presets: Presets,
): readonly PolicyRoute[] {
  return file.routes.map((route, index) => {
    const { file: shownAs, line, column } = document.placeOf(['routes', index])
    const preset = route.extends ?? file.defaults?.extends
    const settings: Settings = { ...presets.get(preset ?? ''), ...file.defaults, ...route }
    const { timeout, idleTimeout, bodyLimit } = settings
    const prefix = readPrefix(settings.mount)
    return Object.freeze({
      name: `${file.name}/${route.name}`,
      policy: file.name,
      owner: file.owner,
      methods: Object.freeze([...route.match.methods]),
      path: `${prefix}${route.match.path}`,
      matchHeaders: toHeaderValues(route.match.headers),
      scopes: toScopeRule(route),
      // docs/interface.md section 5.5 requires this default: requests without a token pass without identity.
      anonymous: settings.anonymous ?? 'allow',
      when: toConditions(route.when, { index, document }),
      enforce: settings.enforce ?? 'on',
      upstream: file.upstream,
      rateLimit: toRateLimit(settings.rateLimit),
      // With a mount, the upstream receives the path of the policy without the prefix.
      rewritePath: route.rewrite?.path ?? (prefix === '' ? undefined : route.match.path),
      mount: prefix === '' || route.rewrite !== undefined ? undefined : prefix,
      timeoutMs: timeout === undefined ? undefined : parseDurationMs(timeout),
      idleTimeoutMs: idleTimeout === undefined ? undefined : parseDurationMs(idleTimeout),
      retries: toRetryRule(settings.retries),
      bodyLimitBytes: bodyLimit === undefined ? undefined : parseByteSize(bodyLimit),
      // The handshake is a GET, so a default in `defaults` or a preset affects only routes with GET.
      websocket: settings.websocket === true && route.match.methods.includes('GET'),
      upstreamAuth: settings.upstreamAuth ?? 'none',
      headers: toHeaderRules(settings.headers),
      cors: toCorsRule(settings.cors),
      preset,
      source: Object.freeze({ file: shownAs, line: line ?? 1, column: column ?? 1 }),
    })
  })
}

function readPrefix(mount: string | undefined): string {
  const parsed = parseMount(mount ?? '/')
  if ('problem' in parsed) throw new Error(`mount "${mount}": ${parsed.problem}`)
  return parsed.prefix
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

function toScopeRule(route: RouteEntry): ScopeRule | undefined {
  if (route.scopes === undefined) return undefined
  const { all, any, advertise } = route.scopes
  return Object.freeze({
    all: Object.freeze([...(all ?? [])]),
    any: Object.freeze([...(any ?? [])]),
    ...(advertise === undefined ? {} : { advertise }),
  })
}
