import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import { neededScopes } from '../../policy-engine/decide/scope-check.ts'
import type { UnavailableMatch } from '../../policy-engine/decide/select-route.ts'
import { isRateLimited, type PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { Match } from '../../policy-engine/match/route-table.ts'
import { type JsonObject, mergeComponents } from './openapi-components.ts'

export type OpenapiSource = { readonly upstream: string; readonly document: JsonObject }

/** Input of `/openapi.json`. `baseUrl` has no trailing slash. */
export type OpenapiOptions = {
  readonly baseUrl: string
  readonly name: string
  readonly version: string
  /** If false, the document omits the OAuth flow of the bundled authorization server. */
  readonly bundledAuthorizationServer: boolean
  readonly catalogue: ScopeCatalogue
  readonly routes: readonly PolicyRoute[]
  /** Finds the route that matches a request. Ignores the gateway's own documents and the authorization server. */
  readonly match: (method: string, path: string) => Match<PolicyRoute> | UnavailableMatch
  /** Documents of upstreams. An operation without such a document is described from its policy alone. */
  readonly sources: readonly OpenapiSource[]
  /**
   * Returns additional members of an operation that is described from its policy alone. Undefined for `/openapi.json`,
   * which the gateway serves.
   */
  readonly extend?: (route: PolicyRoute, method: string) => JsonObject
}

/** The operations of a path item. OpenAPI 3.1 section 4.8.9. */
const OPERATION_METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
/** A path segment that no policy contains as a literal. This segment represents the value of a parameter. */
const ANY_SEGMENT = '0-any-0'

/**
 * Builds `/openapi.json` from the operations that upstreams describe and the access rules of the policies. The policies
 * take precedence. The document omits operations without a route. Routes without a description get a short description.
 * Source: OpenAPI 3.1. Pure.
 */
export function buildOpenapi(options: OpenapiOptions): JsonObject {
  const paths = new Map<string, Map<string, unknown>>()
  const components = new Map<string, Map<string, unknown>>()
  const described = new Set<string>()
  const mounts = mountsByUpstream(options.routes)

  for (const source of options.sources) {
    const document = mergeComponents(source.document, components, source.upstream)
    for (const [path, item] of Object.entries(toRecord(document['paths']))) {
      const { kept, shared } = splitPathItem(toRecord(item))
      for (const [method, operation] of kept) {
        for (const [index, { route, publicPath }] of findServed(method, path, source.upstream).entries()) {
          const target = paths.get(publicPath) ?? new Map(shared)
          const { operationId: _taken, ...withoutId } = toRecord(operation)
          // OpenAPI 3.1 section 4.8.10: an operationId is unique in a document.
          target.set(method, secured(index === 0 ? toRecord(operation) : withoutId, route))
          paths.set(publicPath, target)
          described.add(`${route.name} ${method}`)
        }
      }
    }
  }

  for (const route of options.routes.toSorted(plainestFirst)) {
    for (const method of route.methods.map((one) => one.toLowerCase())) {
      if (!OPERATION_METHODS.includes(method) || described.has(`${route.name} ${method}`)) continue
      const path = describePath(route.path)
      const target = paths.get(path) ?? new Map<string, unknown>()
      if (target.has(method)) continue
      const operation = secured(fromPolicy(route, method, path), route)
      target.set(method, { ...operation, ...options.extend?.(route, method) })
      paths.set(path, target)
    }
  }

  /** Returns the routes to an operation of an upstream: at most one route per mount, with the path that clients use. */
  function findServed(method: string, path: string, upstream: string) {
    return (mounts.get(upstream) ?? []).flatMap((mount) => {
      const publicPath = `${mount}${path}`
      const found = options.match(method.toUpperCase(), publicPath.replace(/\{[^/{}]*\}/g, ANY_SEGMENT))
      const isServed =
        found.kind === 'route' && found.route.upstream === upstream && (found.route.mount ?? '') === mount
      return isServed ? [{ route: found.route, publicPath }] : []
    })
  }

  return {
    openapi: '3.1.0',
    info: { title: options.name, version: options.version },
    externalDocs: { description: 'How to get a token', url: `${options.baseUrl}/auth.md` },
    servers: [{ url: options.baseUrl }],
    paths: toObject(paths),
    components: { ...toObject(components), ...ownComponents(options, components) },
  }
}

/** Returns the mount prefixes of each upstream; the empty string for routes without a mount. */
function mountsByUpstream(routes: readonly PolicyRoute[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  for (const { upstream, mount = '' } of routes) {
    if (upstream === undefined) continue
    const mounts = found.get(upstream)
    if (mounts === undefined) found.set(upstream, new Set([mount]))
    else mounts.add(mount)
  }
  return new Map([...found].map(([upstream, mounts]) => [upstream, [...mounts]]))
}

/**
 * Sorts routes with fewer header conditions first. OpenAPI operations do not differ by request headers, so the document
 * shows only the first of several routes that differ only by headers.
 */
function plainestFirst(a: PolicyRoute, b: PolicyRoute): number {
  return a.matchHeaders.length - b.matchHeaders.length
}

/** Replaces `**` with a path parameter whose name is unused. */
function describePath(path: string): string {
  let name = 'path'
  while (path.includes(`{${name}}`)) name += '_'
  return path.replace(/\*\*$/, `{${name}}`)
}

/**
 * Splits a path item into its operations and the members that all operations share. Drops `servers`, because the API
 * has one base URL.
 */
function splitPathItem(item: JsonObject): { kept: [string, unknown][]; shared: [string, unknown][] } {
  const entries = Object.entries(item)
  return {
    kept: entries.filter(([key]) => OPERATION_METHODS.includes(key)),
    shared: entries.filter(([key]) => !OPERATION_METHODS.includes(key) && key !== 'servers'),
  }
}

function secured(operation: JsonObject, route: PolicyRoute): JsonObject {
  const { security: _replaced, servers: _one, ...rest } = operation
  const responses: Record<string, unknown> = {
    ...toRecord(operation['responses']),
    '401': { $ref: '#/components/responses/Unauthorized' },
  }
  if (route.scopes !== undefined) responses['403'] = forbidden(route)
  if (isRateLimited(route)) responses['429'] = { $ref: '#/components/responses/TooManyRequests' }
  return { ...rest, security: securityOf(route), responses }
}

/**
 * Returns the alternative security requirements. An empty object means that a token is optional. OpenAPI 3.1 section
 * 4.8.30.
 */
function securityOf(route: PolicyRoute): readonly JsonObject[] {
  const rule = route.scopes
  const ways =
    rule === undefined
      ? [[]]
      : rule.any.length === 0
        ? [rule.all]
        : rule.any.map((scope) => [...new Set([...rule.all, scope])])
  const withToken = ways.map((scopes) => ({ oauth2: scopes }))
  return route.anonymous === 'allow' ? [...withToken, {}] : withToken
}

function forbidden(route: PolicyRoute): JsonObject {
  return {
    description: `The access token lacks a scope. Required: ${neededScopes(route.scopes).join(' ')}.`,
    headers: { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/GatewayError' } } },
  }
}

function fromPolicy(route: PolicyRoute, method: string, path: string): JsonObject {
  const several = route.methods.length > 1
  const names = [...path.matchAll(/\{([^/{}]+)\}/g)].map((found) => found[1])
  return {
    operationId: `${route.name.replaceAll('/', '.')}${several ? `.${method}` : ''}`,
    summary: route.name.slice(route.policy.length + 1).replaceAll('-', ' '),
    tags: [route.policy],
    ...(names.length === 0
      ? {}
      : {
          parameters: names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
        }),
    responses: { default: { description: 'The response of the service.' } },
  }
}

function ownComponents(
  options: OpenapiOptions,
  components: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
): JsonObject {
  const merged = (section: string, own: JsonObject): JsonObject => ({
    ...Object.fromEntries(components.get(section) ?? []),
    ...own,
  })
  return {
    securitySchemes: {
      oauth2: {
        type: 'oauth2',
        description: options.bundledAuthorizationServer
          ? `Authorization code with PKCE (S256); see ${options.baseUrl}/auth.md.`
          : `Tokens of other issuers; see ${options.baseUrl}/auth.md.`,
        flows: options.bundledAuthorizationServer
          ? { authorizationCode: authorizationCodeFlow(options) }
          : {},
      },
    },
    schemas: merged('schemas', {
      GatewayError: {
        type: 'object',
        required: ['error', 'error_description'],
        properties: {
          error: { type: 'string' },
          error_description: { type: 'string' },
          request_id: { type: 'string' },
          scope: {
            type: 'string',
            description:
              'Required scopes. Present for insufficient_scope and insufficient_user_authentication.',
          },
          acr_values: {
            type: 'string',
            description:
              'Accepted classes of sign-in. Present for insufficient_user_authentication. RFC 9470 section 3.',
          },
          max_age: {
            type: 'integer',
            description:
              'Maximum age of the sign-in in seconds. Present for insufficient_user_authentication. RFC 9470 section 3.',
          },
          retry_after: { type: 'integer', description: 'Seconds, as in Retry-After.' },
        },
      },
    }),
    headers: merged('headers', {
      'WWW-Authenticate': {
        description: 'A Bearer challenge. RFC 6750 section 3, RFC 9728 section 5.1.',
        schema: { type: 'string' },
      },
      'Retry-After': {
        description: 'Seconds to wait before a retry. RFC 9110 section 10.2.3.',
        schema: { type: 'integer' },
      },
      RateLimit: {
        description:
          'Remaining requests, and seconds until the limit is reset. draft-ietf-httpapi-ratelimit-headers-10.',
        schema: { type: 'string' },
      },
      'RateLimit-Policy': {
        description: 'The limit and its window. draft-ietf-httpapi-ratelimit-headers-10.',
        schema: { type: 'string' },
      },
    }),
    responses: merged('responses', {
      TooManyRequests: {
        description: 'The caller has exceeded the rate limit: rate_limited.',
        headers: Object.fromEntries(
          ['Retry-After', 'RateLimit', 'RateLimit-Policy'].map((name) => [
            name,
            { $ref: `#/components/headers/${name}` },
          ]),
        ),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/GatewayError' } } },
      },
      Unauthorized: {
        description: 'The access token is missing or not valid.',
        headers: { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
        content: { 'application/json': { schema: { $ref: '#/components/schemas/GatewayError' } } },
      },
    }),
  }
}

/** Returns the OAuth flow of the bundled authorization server. OpenAPI 3.1 section 4.8.29. */
function authorizationCodeFlow({ baseUrl, catalogue }: OpenapiOptions): JsonObject {
  return {
    authorizationUrl: `${baseUrl}${ENDPOINTS.authorization}`,
    tokenUrl: `${baseUrl}${ENDPOINTS.token}`,
    refreshUrl: `${baseUrl}${ENDPOINTS.token}`,
    scopes: Object.fromEntries([...catalogue.values()].map(({ name, description }) => [name, description])),
  }
}

function toObject(map: ReadonlyMap<string, ReadonlyMap<string, unknown>>): JsonObject {
  return Object.fromEntries([...map].map(([key, inner]) => [key, Object.fromEntries(inner)]))
}
