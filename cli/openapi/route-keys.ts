import { formatByteSize, formatDuration } from '../../platform/diagnostics/schema/value-formats.ts'
import type {
  AuthenticationRule,
  Condition,
  HeaderChanges,
  Operand,
  PolicyRoute,
} from '../../policy-engine/load/policy-route.ts'
import type { PlainMap } from './plain-data.ts'

/**
 * Returns the keys of a route that OpenAPI cannot express, in the form of a policy file, with defaults and presets
 * applied. An import of an operation with these keys creates the same route.
 * @param method in lower case. WebSockets and MCP messages need their own method.
 */
export function routeKeys(route: PolicyRoute, method: string): PlainMap {
  const {
    matchHeaders,
    scopes,
    anonymous,
    rateLimit,
    sharedLimits = [],
    retries,
    headers,
    mount,
    rewritePath,
  } = route
  // A mounted route without its own rewrite forwards to the path below the mount.
  const path = mount === undefined ? route.path : rewritePath
  const match = {
    ...(mount !== undefined || route.path.endsWith('**') ? { path } : {}),
    ...(matchHeaders.length > 0 ? { headers: toMap(matchHeaders) } : {}),
  }
  return {
    ...(mount === undefined ? {} : { mount }),
    ...(Object.keys(match).length > 0 ? { match } : {}),
    ...(anonymous === 'deny' ? { anonymous } : {}),
    ...(scopes?.advertise === undefined
      ? {}
      : {
          scopes: {
            ...(scopes.all.length > 0 ? { all: scopes.all } : {}),
            any: scopes.any,
            advertise: scopes.advertise,
          },
        }),
    ...(route.authentication === undefined
      ? {}
      : { authentication: authenticationKeys(route.authentication) }),
    ...(route.when.length > 0 ? { when: route.when.map(conditionKeys) } : {}),
    ...(route.enforce === 'on' ? {} : { enforce: route.enforce }),
    ...(rewritePath === undefined || mount !== undefined ? {} : { rewrite: { path: rewritePath } }),
    ...(route.timeoutMs === undefined ? {} : { timeout: formatDuration(route.timeoutMs) }),
    ...(route.idleTimeoutMs === undefined ? {} : { idleTimeout: formatDuration(route.idleTimeoutMs) }),
    ...(retries === undefined ? {} : { retries }),
    ...(rateLimit === undefined
      ? {}
      : {
          rateLimit: { requests: rateLimit.requests, per: formatDuration(rateLimit.perMs), by: rateLimit.by },
        }),
    ...(sharedLimits.length === 0 ? {} : { sharedLimits: sharedLimits.map(({ name }) => name) }),
    ...(route.bodyLimitBytes === undefined ? {} : { bodyLimit: formatByteSize(route.bodyLimitBytes) }),
    ...(route.websocket && method === 'get' ? { websocket: true } : {}),
    ...(route.mcp === undefined || method !== 'post' ? {} : { mcp: { ...route.mcp } }),
    ...(route.upstreamAuth === 'none' ? {} : { upstreamAuth: route.upstreamAuth }),
    ...(headers === undefined
      ? {}
      : { headers: { ...way('request', headers.request), ...way('response', headers.response) } }),
    ...(route.cors === undefined ? {} : { cors: { ...route.cors } }),
  }
}

function authenticationKeys({ acr, maxAgeSeconds }: AuthenticationRule): PlainMap {
  return {
    ...(acr.length > 0 ? { acr } : {}),
    ...(maxAgeSeconds === undefined ? {} : { maxAge: formatDuration(maxAgeSeconds * 1_000) }),
  }
}

function conditionKeys({ claim, test }: Condition): PlainMap {
  if ('equals' in test) return { claim, equals: operand(test.equals) }
  if ('in' in test) return { claim, in: test.in.map(operand) }
  return { claim, ...test }
}

function operand(value: Operand): string | number | boolean {
  return typeof value === 'object' ? `{${value.from}.${value.name}}` : value
}

function way(name: 'request' | 'response', { set, add, remove }: HeaderChanges): PlainMap {
  const changes = {
    ...(set.length > 0 ? { set: toMap(set) } : {}),
    ...(add.length > 0 ? { add: toMap(add) } : {}),
    ...(remove.length > 0 ? { remove } : {}),
  }
  return Object.keys(changes).length === 0 ? {} : { [name]: changes }
}

function toMap(values: readonly { readonly name: string; readonly value: string }[]): PlainMap {
  return Object.fromEntries(values.map(({ name, value }) => [name, value]))
}
