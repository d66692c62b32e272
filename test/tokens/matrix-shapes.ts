import { BASE_URL } from '../fixtures/a-gateway.ts'
import type { TestRoute } from './matrix-world.ts'

/**
 * One form of a claim. `means` lists the audiences or scopes in the claim. An empty list means that the claim has no
 * value or is invalid.
 */
export type Shape = {
  readonly what: string
  readonly value: unknown
  readonly means: readonly string[]
}

const shape = (what: string, value: unknown, means: readonly string[] = []): Shape => ({ what, value, means })
const MCP = `${BASE_URL}/mcp`

/** Class 43: `aud` must contain the resource identifier. The gateway ignores one trailing slash. */
export const AUDIENCES: readonly Shape[] = [
  shape('missing', undefined),
  shape('null', null),
  shape('an empty string', ''),
  shape('an empty list', []),
  shape('the API', BASE_URL, [BASE_URL]),
  shape('a list that contains only the API', [BASE_URL], [BASE_URL]),
  shape('a list that contains the API', ['https://other.test', BASE_URL, 7], [BASE_URL]),
  shape('the API with a trailing slash', `${BASE_URL}/`, [BASE_URL]),
  shape('the API with two trailing slashes', `${BASE_URL}//`),
  shape('another resource', MCP, [MCP]),
  shape('both', [MCP, BASE_URL], [BASE_URL, MCP]),
  shape('another resource with a trailing slash', [`${MCP}/`], [MCP]),
  shape('a third resource', 'https://other.test'),
  shape('other case', BASE_URL.toUpperCase()),
  shape('other case in the path', `${BASE_URL}/MCP`),
  shape('a longer name', `${BASE_URL}.evil.test`),
  shape('a longer path', `${BASE_URL}/mcpx`),
  shape('a path below', `${MCP}/open`),
  shape('a shorter name', BASE_URL.slice(0, -1)),
  shape('the default port', `${BASE_URL}:80`),
  shape('another scheme', BASE_URL.replace('http:', 'https:')),
  shape('a query', `${BASE_URL}?`),
  shape('several in one string', `${BASE_URL} ${MCP}`),
  shape('a list in a list', [[BASE_URL]]),
  shape('an object', { 0: BASE_URL, length: 1 }),
  shape('a number', 1),
  shape('true', true),
  shape('a pattern', '*'),
]

/**
 * Class 52: scopes are members of a set. The gateway compares scopes exactly. `courses:write` implies `courses:read`.
 */
export const SCOPES: readonly Shape[] = [
  shape('missing', undefined),
  shape('empty', ''),
  shape('the required scope', 'courses:read', ['courses:read']),
  shape('a scope that implies the required scope', 'courses:write', ['courses:write', 'courses:read']),
  shape('more than the required scopes', 'openid courses:read orders:read posts:read', [
    'courses:read',
    'orders:read',
    'posts:read',
  ]),
  shape('some of the required scopes', 'orders:read', ['orders:read']),
  shape('the other accepted scope', 'posts:read', ['posts:read']),
  shape('a longer name', 'courses:readwrite'),
  shape('a shorter name', 'courses:rea courses'),
  shape('other case', 'Courses:Read COURSES:READ'),
  shape('a comma between', 'courses:read,courses:write'),
  shape('a plus between', 'courses:read+courses:write'),
  shape('a pattern', 'courses:* * **'),
  shape('names of Object.prototype properties', '__proto__ constructor toString'),
]

/** More forms of the scopes of a JWT. The gateway accepts a list if each item is one scope. */
export const JWT_SCOPES: readonly Shape[] = [
  shape('a list', ['courses:read', 'orders:read'], ['courses:read', 'orders:read']),
  shape('an empty list', []),
]

/** Invalid scopes. The gateway rejects a JWT with invalid scopes on every route. RFC 6749 section 3.3. */
export const BROKEN_SCOPES: readonly unknown[] = [
  'courses:read\tcourses:write',
  'courses:read  courses:write',
  ' courses:read',
  'courses:read ',
  'courses:read\n',
  '"courses:read"',
  'coursés:read',
  ['courses:read courses:write'],
  ['courses:read', ''],
  ['courses:read', 1],
  [['courses:read']],
  { 0: 'courses:read' },
  1,
  true,
  null,
]

/** Calculates the expected result for a token without code of the gateway. */
export function expected(where: TestRoute, audience: readonly string[], scopes: readonly string[]): string {
  const metadata = where.resource.replace(BASE_URL, `${BASE_URL}/.well-known/oauth-protected-resource`)
  if (!audience.includes(where.resource)) return `401 invalid_token ${metadata}`
  const isEnough =
    where.all.every((scope) => scopes.includes(scope)) &&
    (where.any.length === 0 || where.any.some((scope) => scopes.includes(scope)))
  return isEnough ? '200' : `403 insufficient_scope ${metadata} ${where.advertised}`
}
