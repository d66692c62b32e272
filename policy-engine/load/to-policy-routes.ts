import { parseByteSize, parseDurationMs } from '../../platform/diagnostics/schema/value-formats.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { ConditionEntry } from '../format/condition-entry.ts'
import type { CorsEntry } from '../format/cors-entry.ts'
import type { HeaderRulesEntry } from '../format/header-schemas.ts'
import type { PolicyFile } from '../format/policy-file.ts'
import type { Presets } from '../format/presets.ts'
import type { RateLimitRule } from '../format/rate-limit.ts'
import type { RetryRule } from '../format/retry-rule.ts'
import { parseMount } from './mount.ts'
import type {
  AuthenticationRule,
  Condition,
  ConditionTest,
  CorsRule,
  HeaderChanges,
  HeaderRules,
  HeaderValue,
  Operand,
  PolicyRoute,
  ScopeRule,
} from './policy-route.ts'
import { readOperand } from './read-operand.ts'
import { readsMcpBody } from './route-keys.ts'

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
    const { file: shownAs, line, column } = document.locationOf(['routes', index])
    const preset = route.extends ?? file.defaults?.extends
    const settings: Settings = { ...presets.byName.get(preset ?? ''), ...file.defaults, ...route }
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
      // docs/interface.md section 5.5 requires this default: the gateway forwards a request without a token, and sends
      // no identity.
      anonymous: settings.anonymous ?? 'allow',
      authentication: toAuthenticationRule(settings.authentication),
      when: toConditions(route.when, { index, document }),
      enforce: settings.enforce ?? 'on',
      upstream: file.upstream,
      rateLimit: toRateLimit(settings.rateLimit),
      ...toSharedLimits(settings.sharedLimits, presets),
      // With a mount, the upstream receives the path in the policy file, without the prefix.
      rewritePath: route.rewrite?.path ?? (prefix === '' ? undefined : route.match.path),
      mount: prefix === '' || route.rewrite !== undefined ? undefined : prefix,
      timeoutMs: timeout === undefined ? undefined : parseDurationMs(timeout),
      idleTimeoutMs: idleTimeout === undefined ? undefined : parseDurationMs(idleTimeout),
      retries: toRetryRule(settings.retries),
      bodyLimitBytes: bodyLimit === undefined ? undefined : parseByteSize(bodyLimit),
      // The WebSocket handshake is a GET. `websocket` in `defaults` or in a preset therefore affects only routes with
      // GET.
      websocket: settings.websocket === true && route.match.methods.includes('GET'),
      ...toMcpRule(settings.mcp, route.match.methods),
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
  return Object.freeze({ requests, perMs: parseDurationMs(per) ?? 0, by: by === 'address' ? 'ip' : by })
}

function toSharedLimits(
  names: Settings['sharedLimits'],
  presets: Presets,
): Pick<PolicyRoute, 'sharedLimits'> {
  if (names === undefined || names.length === 0) return {}
  const limits = names.map((name) => {
    const limit = presets.limits.get(name)
    if (limit === undefined) throw new Error(`unknown shared limit "${name}"`)
    return limit
  })
  return { sharedLimits: Object.freeze(limits) }
}

/** MCP messages are POST requests. `mcp` in `defaults` or in a preset therefore affects only routes with POST. */
function toMcpRule(entry: Settings['mcp'], methods: readonly string[]): Pick<PolicyRoute, 'mcp'> {
  if (entry === undefined || !readsMcpBody(entry) || !methods.includes('POST')) return {}
  return {
    mcp: Object.freeze({ readBody: true, ...(entry.filterTools === true ? { filterTools: true } : {}) }),
  }
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

function toAuthenticationRule(entry: Settings['authentication']): AuthenticationRule | undefined {
  if (entry === undefined) return undefined
  const { acr = [], maxAge } = entry
  const maxAgeSeconds = maxAge === undefined ? undefined : (parseDurationMs(maxAge) ?? 0) / 1_000
  return Object.freeze({ acr: Object.freeze([...acr]), maxAgeSeconds })
}

const NONE: readonly Condition[] = Object.freeze([])

/** Converts the validated `when` of a route to conditions. Frozen. */
function toConditions(
  when: readonly ConditionEntry[] | undefined,
  options: { readonly index: number; readonly document: YamlDocument },
): readonly Condition[] {
  if (when === undefined) return NONE
  return Object.freeze(
    when.map((entry, position) => {
      const { file, line, column } = options.document.locationOf(['routes', options.index, 'when', position])
      const source = Object.freeze({ file, line: line ?? 1, column: column ?? 1 })
      return Object.freeze({ claim: entry.claim, test: Object.freeze(toTest(entry)), source })
    }),
  )
}

function toTest(entry: ConditionEntry): ConditionTest {
  if (entry.equals !== undefined) return { equals: toOperand(entry.equals) }
  if (entry.in !== undefined) return { in: Object.freeze(entry.in.map(toOperand)) }
  if (entry.matches !== undefined) return { matches: entry.matches }
  return { exists: entry.exists ?? true }
}

function toOperand(written: string | number | boolean): Operand {
  const operand = readOperand(written)
  if (typeof operand !== 'object') return operand
  if ('problem' in operand) throw new Error(operand.problem)
  return Object.freeze(operand)
}

/** Converts the validated `cors` of a policy to a frozen rule. Returns undefined if `cors` sets no limit. */
function toCorsRule(entry: CorsEntry | undefined): CorsRule | undefined {
  const origins = entry?.origins?.includes('*') === true ? undefined : entry?.origins
  const { methods, headers } = entry ?? {}
  if (origins === undefined && methods === undefined && headers === undefined) return undefined
  return Object.freeze({
    ...(origins === undefined ? {} : { origins: Object.freeze([...origins]) }),
    ...(methods === undefined ? {} : { methods: Object.freeze([...methods]) }),
    ...(headers === undefined ? {} : { headers: Object.freeze(headers.map((name) => name.toLowerCase())) }),
  })
}

/** Converts the validated `headers` of a policy to frozen rules. Header names are in lower case. */
function toHeaderRules(headers: HeaderRulesEntry | undefined): HeaderRules | undefined {
  if (headers === undefined) return undefined
  return Object.freeze({ request: toChanges(headers.request), response: toChanges(headers.response) })
}

/** Returns the values sorted by name, with names in lower case. Equal requirements therefore have equal results. */
function toHeaderValues(values: Readonly<Record<string, string>> | undefined): readonly HeaderValue[] {
  const pairs = Object.entries(values ?? {}).map(([name, value]) =>
    Object.freeze({ name: name.toLowerCase(), value }),
  )
  return Object.freeze(pairs.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
}

function toChanges(changes: HeaderRulesEntry['request']): HeaderChanges {
  return Object.freeze({
    set: toHeaderValues(changes?.set),
    add: toHeaderValues(changes?.add),
    remove: Object.freeze((changes?.remove ?? []).map((name) => name.toLowerCase()).toSorted()),
  })
}
