import { visibleText } from '../../platform/diagnostics/visible-text.ts'
import { describeCondition } from '../../policy-engine/decide/compile-condition.ts'
import type { CompiledRoute } from '../../policy-engine/decide/compile-policies.ts'
import {
  describeAnonymous,
  describeComparison,
  describeCors,
  describeLimitOf,
  describeMcp,
  describeRateLimit,
  formatAuthentication,
  formatScopeRule,
} from '../../policy-engine/decide/describe-rules.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { isPagePath } from '../../policy-engine/match/free-pages.ts'
import {
  FIRST_REVISION,
  isCallHeader,
  isMcpValue,
  MCP_VERSION,
} from '../../policy-engine/match/mcp-headers.ts'
import { isReservedPath } from '../../policy-engine/match/reserved-paths.ts'
import { abbreviateList } from '../observability/abbreviate-list.ts'
import type { ExplainedSimulation } from './explain-simulation.ts'
import { describeSettings } from './upstream-settings.ts'

/** One rule of an explanation. `DENY`: the rule denies the request. */
export type ExplanationRow = readonly [
  label: string,
  status: 'ok' | 'DENY' | 'n/a' | 'note' | '',
  text: string,
]

const NAME = 30
const MAX_OTHERS = 5

/** Explains the decision rule by rule. The rows contain only visible characters. */
export function explainRows(explained: ExplainedSimulation, nowSeconds: number): readonly ExplanationRow[] {
  const { decision, explanation } = explained
  const { route } = decision
  const others = (explanation?.alsoSaw ?? []).slice(0, MAX_OTHERS)
  const rows: readonly ExplanationRow[] = [
    ['route', '', route === undefined ? describeNoRoute(explained) : describeRoute(route)],
    ...others.map(
      (one): ExplanationRow => [
        'also saw',
        '',
        `${one.policy.name.padEnd(NAME)}  ${describeMismatch(one, explained)}`,
      ],
    ),
    ...modeRows(explained),
    ...(route === undefined ? [] : accessRows(explained, route, nowSeconds)),
    ...corsRows(explained),
  ]
  // Owners, claims and tokens are untrusted text.
  return rows.map(([label, status, text]) => [label, status, visibleText(text)])
}

/** A route exists, but the mode does not serve it. */
function modeRows({ decision, simulated: { mode } }: ExplainedSimulation): readonly ExplanationRow[] {
  if (mode === undefined || decision.route === undefined) return []
  if (decision.rejection?.rejected !== 'route_unknown') return [['mode', 'ok', mode]]
  return [
    mode === 'proxy'
      ? ['mode', 'DENY', 'proxy: only the decision endpoint serves this route']
      : [
          'mode',
          'DENY',
          'decision: only the proxy serves this route (mount, rewrite, websocket, mcp or headers)',
        ],
  ]
}

function accessRows(
  explained: ExplainedSimulation,
  route: CompiledRoute,
  nowSeconds: number,
): readonly ExplanationRow[] {
  const { decision, claims, explanation } = explained
  const { policy } = route
  const upstream = decision.upstreamPath
  return [
    tokenRow(explained, nowSeconds),
    ...authenticationRows(explained, route, nowSeconds),
    scopesRow(explained, route),
    ...conditionRows(explained, route),
    anonymousRow(claims === undefined, route),
    ...(policy.enforce === 'report'
      ? [
          [
            'enforce',
            'note',
            'report: a missing token, scope or claim is logged and counted, not denied',
          ] as ExplanationRow,
        ]
      : []),
    ...(policy.preset === undefined ? [] : [['preset', '', policy.preset] as ExplanationRow]),
    ...(policy.mount === undefined ? [] : [['mount', '', policy.mount] as ExplanationRow]),
    ...(policy.mcp === undefined ? [] : [['mcp', '', describeMcp(policy)] as ExplanationRow]),
    ...(policy.rateLimit === undefined
      ? []
      : [['limits', '', describeRateLimit(policy.rateLimit)] as ExplanationRow]),
    ...(policy.sharedLimits ?? []).map(
      (limit): ExplanationRow => ['limits', '', describeLimitOf(limit, explained.caller)],
    ),
    ...(upstream === undefined || explanation === undefined
      ? []
      : [['upstream', '', describeUpstream(policy, upstream, explained.credentialHeader)] as ExplanationRow]),
    ...describeSettings(explained.upstreamSettings).map((text): ExplanationRow => ['', '', text]),
  ]
}

function describeUpstream(
  { upstream }: PolicyRoute,
  path: string,
  credentialHeader: string | undefined,
): string {
  if (upstream === undefined) return 'none: only the decision endpoint serves this route'
  return credentialHeader === undefined
    ? `${upstream}  ${path}`
    : `${upstream}  ${path}  with ${credentialHeader} of the gateway`
}

function corsRows({ cors }: ExplainedSimulation): readonly ExplanationRow[] {
  if (cors === undefined) return []
  const { isPreflight, isAllowed, deniedHeaders, method, rule } = cors
  const asked = `${method} from ${cors.origin ?? 'no origin'}`
  if (isPreflight) {
    const names = deniedHeaders.length === 0 ? '' : ` with ${deniedHeaders.join(', ')}`
    return isAllowed && names === ''
      ? [['cors', 'ok', `a browser sends ${asked}`]]
      : [['cors', 'DENY', `a browser does not send ${asked}${names}`]]
  }
  const limits = rule === undefined ? '' : describeCors(rule)
  if (cors.origin === undefined) return [['cors', 'n/a', limits]]
  return [
    isAllowed
      ? ['cors', 'ok', `a page of ${cors.origin} can read the response   ${limits}`]
      : ['cors', 'note', `a page of ${cors.origin} cannot read the response   ${limits}`],
  ]
}

function tokenRow(
  { claims, caller, fault, explanation, simulated, decision }: ExplainedSimulation,
  nowSeconds: number,
): ExplanationRow {
  if (claims === undefined)
    return simulated.claims === undefined || decision.as === 'gateway'
      ? ['token', 'n/a', 'no token was sent']
      : ['token', 'n/a', 'the token was not checked']
  const found = fault ?? explanation?.token?.fault
  const details = [
    ...(typeof claims['client_id'] === 'string' ? [`client ${claims['client_id']}`] : []),
    ...(typeof claims['sub'] === 'string' ? [`subject ${claims['sub']}`] : []),
    ...(caller === undefined ? [] : [describeExpiry(caller.expiresAtSeconds - nowSeconds)]),
    `audience ${abbreviateList([claims['aud'] ?? '(absent)'].flat().map(textOf)).join(' ')}`,
    ...(found?.reason === 'wrong_audience' ? [`expected ${found.expected}`] : []),
  ]
  return [
    'token',
    found === undefined ? 'ok' : 'DENY',
    `${found === undefined ? '' : `${found.reason}  `}${details.join('  ')}`,
  ]
}

/** Returns a string unchanged. `String()` throws for the objects of policy files, because they have no prototype. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function authenticationRows(
  { explanation, caller }: ExplainedSimulation,
  { policy }: CompiledRoute,
  nowSeconds: number,
): readonly ExplanationRow[] {
  if (policy.authentication === undefined) return []
  const needs = `needs ${formatAuthentication(policy.authentication)}`
  if (caller === undefined || explanation?.authentication === undefined) return [['sign-in', 'n/a', needs]]
  const [acr, time] = [caller.claims.get('acr'), caller.claims.get('auth_time')]
  const has = [
    ...(policy.authentication.acr.length === 0
      ? []
      : [`acr ${acr === undefined ? '(absent)' : JSON.stringify(acr)}`]),
    ...(policy.authentication.maxAgeSeconds === undefined
      ? []
      : [typeof time === 'number' ? `signed in ${seconds(nowSeconds - time)} ago` : 'auth_time (absent)']),
  ].join(', ')
  return [['sign-in', explanation.authentication.held ? 'ok' : 'DENY', `${needs}   token has: ${has}`]]
}

function scopesRow(
  { explanation, caller, decision }: ExplainedSimulation,
  { policy }: CompiledRoute,
): ExplanationRow {
  if (policy.scopes === undefined)
    return ['scopes', 'n/a', 'a token is optional; an invalid token is rejected']
  const needs = `needs ${formatScopeRule(policy.scopes)}`
  if (caller === undefined || explanation?.scopes === undefined)
    return [
      'scopes',
      'n/a',
      decision.as === 'anonymous' ? `${needs}; not checked for anonymous callers` : needs,
    ]
  const has = [...caller.scopes].join(' ')
  return [
    'scopes',
    explanation.scopes.held ? 'ok' : 'DENY',
    `${needs}   token has: ${has === '' ? 'none' : has}`,
  ]
}

function conditionRows(
  { explanation, caller }: ExplainedSimulation,
  { policy }: CompiledRoute,
): readonly ExplanationRow[] {
  if (caller === undefined)
    return policy.when.map((condition): ExplanationRow => ['when', 'n/a', describeCondition(condition)])
  return (explanation?.conditions ?? []).map(
    (one): ExplanationRow => ['when', one.held ? 'ok' : 'DENY', describeComparison(one)],
  )
}

function anonymousRow(isAnonymous: boolean, { policy }: CompiledRoute): ExplanationRow {
  if (!isAnonymous) return ['anonymous', 'n/a', 'a token was sent']
  return ['anonymous', policy.anonymous === 'allow' ? 'ok' : 'DENY', describeAnonymous(policy.anonymous)]
}

function describeRoute({ policy }: CompiledRoute): string {
  const { file, line, column } = policy.source
  const facts = [
    ...(policy.policySource === undefined ? [] : [`source ${policy.policySource}`]),
    ...(policy.owner === undefined ? [] : [`owner ${policy.owner}`]),
  ].join(', ')
  return `${policy.name.padEnd(NAME)}  ${file}:${line}:${column}${facts === '' ? '' : `   (${facts})`}`
}

function describeNoRoute({
  decision: { rejection, as },
  request,
  response,
  explanation,
  nearest,
}: ExplainedSimulation): string {
  if (request === undefined) return `none: rejected before routing. ${response?.description ?? ''}`
  const { path } = request.canonical
  if (rejection?.rejected === 'method_not_allowed')
    return `none: this path allows only ${rejection.allow.join(', ')}`
  if (isReservedPath(path)) return 'none: policies do not apply to this path of Scopegate'
  if (as === 'gateway' && isPagePath(path)) {
    const reply = path.endsWith('/') ? `redirects to ${path.slice(0, -1)}` : 'serves a page here'
    return `none: the gateway ${reply} (docs in gateway.yaml) until a policy has this path`
  }
  if (as === 'gateway') return 'none: the gateway itself responds to OPTIONS'
  if (rejection?.rejected === 'policy_unavailable')
    return 'none: the path belongs to a policy source without valid policies'
  if (explanation !== undefined && explanation.alsoSaw.length > 0)
    return 'none: the headers of the request match no route with this path'
  if (nearest === undefined) return 'none: no policy has this path'
  return `none: no policy has this path. The nearest route: ${nearest.methods.join(',')} ${nearest.path} (${nearest.name})`
}

function describeMismatch({ policy }: CompiledRoute, { simulated }: ExplainedSimulation): string {
  const { method } = simulated
  const takes = policy.methods.includes(method) || (method === 'HEAD' && policy.methods.includes('GET'))
  if (!takes) return `also matches the path, but only for ${policy.methods.join(', ')}`
  const { matchHeaders } = policy
  if (matchHeaders.length === 0) return 'also matches the path, but is less specific'
  const required = matchHeaders.map(({ name, value }) => `${name}: ${value}`)
  if (matchHeaders.some(({ name }) => needsRevision(name, policy)))
    required.push(`${MCP_VERSION}: ${FIRST_REVISION} or later`)
  return `also matches the path, but only with ${required.join(', ')}`
}

/** Returns whether the header counts only in requests with an MCP revision that has the header. */
function needsRevision(name: string, { mcp }: PolicyRoute): boolean {
  return isMcpValue(name) && (mcp === undefined || !isCallHeader(name))
}

function describeExpiry(left: number): string {
  return left > 0 ? `expires in ${seconds(left)}` : `expired ${seconds(-left)} ago`
}

/** Formats a duration, e.g. `4m 51s`. */
function seconds(total: number): string {
  const whole = Math.floor(total)
  const parts = [
    [Math.floor(whole / 3_600), 'h'],
    [Math.floor(whole / 60) % 60, 'm'],
    [whole % 60, 's'],
  ] as const
  return (
    parts
      .filter(([number]) => number > 0)
      .map(([number, unit]) => `${number}${unit}`)
      .join(' ') || '0s'
  )
}
