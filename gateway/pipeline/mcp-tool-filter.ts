import { decideAccess } from '../../policy-engine/decide/check-access.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { isUnambiguous } from '../../policy-engine/match/mcp-call.ts'
import { filterTools, type IsToolAllowed } from '../mcp/filter-tools.ts'
import type { ResponseRewriter } from '../upstreams/forward-request.ts'
import type { ShapedContext } from './request-context.ts'

/** Largest response to `tools/list`. Bytes. */
const LIST_LIMIT_BYTES = 1024 * 1024
const UNREADABLE: Rejection = Object.freeze({ rejected: 'mcp_tools_unreadable' })
const METHOD = 'POST'
const PARAMETER_PREFIX = 'mcp-param-'

/** Values of the headers `mcp-param-*`, and the tool with these values. undefined: each tool. */
type Arguments = { readonly tool: string | undefined; readonly values: ReadonlyMap<string, string> }

const NO_ARGUMENTS: Arguments = { tool: undefined, values: new Map() }

/** Returns the filter of the tool list, if the request is `tools/list` on a route with `mcp.filterTools`. */
export function toolFilterOf(context: ShapedContext): ResponseRewriter | undefined {
  const { route, canonical } = context
  if (route.kind !== 'api' || route.policy.mcp?.filterTools !== true) return undefined
  if (canonical.headers.mcpCall?.method !== 'tools/list') return undefined
  const isAllowed = toolDecision(context)
  return {
    limitBytes: LIST_LIMIT_BYTES,
    rewrite: (response) => filterTools(response, isAllowed),
    rejection: UNREADABLE,
  }
}

/**
 * Decides as for a call of the tool by the same caller. A list request has no arguments, so a tool is allowed if the
 * caller may call it without arguments, or with the arguments that one of its routes requires.
 */
function toolDecision(context: ShapedContext): IsToolAllowed {
  const { canonical, caller, possessionProof, services } = context
  const { path, headers } = canonical
  const snapshot = services.snapshot()
  const required = (snapshot.routesAt(path).get(METHOD) ?? []).flatMap((route): readonly Arguments[] => {
    if (route.kind !== 'api') return []
    const values = route.matchHeaders.filter(({ name }) => name.startsWith(PARAMETER_PREFIX))
    const tool = route.matchHeaders.find(({ name }) => name === 'mcp-name')?.value
    return values.length === 0
      ? []
      : [{ tool, values: new Map(values.map(({ name, value }) => [name, value])) }]
  })
  const isAllowedWith = (name: string, { values }: Arguments): boolean => {
    const call = {
      ...headers,
      mcpCall: { method: 'tools/call', name },
      header: (header: string) => values.get(header) ?? headers.header(header),
    }
    const match = snapshot.match(METHOD, path, call)
    if (match.kind !== 'route' || match.route.kind !== 'api') return false
    const resource = match.route.resourceOf(path)
    const request = {
      canonical: { ...canonical, headers: call },
      params: match.params,
      resource,
      possessionProof,
    }
    const denial = decideAccess(request, caller, match.route, services.nowMs() / 1_000)
    return denial === undefined || denial.isAuditOnly
  }
  return (name) =>
    isUnambiguous(name) &&
    [NO_ARGUMENTS, ...required].some(
      (one) => (one.tool === undefined || one.tool === name) && isAllowedWith(name, one),
    )
}
