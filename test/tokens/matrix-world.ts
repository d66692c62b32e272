import type { Test } from 'tap'
import type { IssuerConfig } from '../../gateway/tokens/issuer-config.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { type JwtIssuer, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { startIssuer, type TestIssuer } from '../fixtures/an-issuer.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { send } from '../fixtures/send.ts'

/** Another issuer with introspection. */
export const D = 'https://d.test'

/** The test's own description of a route. The expected results come from this description, not from the policy. */
export type TestRoute = {
  readonly path: string
  readonly resource: string
  /** The token needs all of these scopes. */
  readonly all: readonly string[]
  /** The token needs one of these scopes. */
  readonly any: readonly string[]
  /** Value of `scope` in a challenge. */
  readonly advertised: string
}

const testRoute = (
  path: string,
  resource: string,
  all: readonly string[],
  any: readonly string[] = [],
): TestRoute => ({
  path,
  resource: BASE_URL + resource,
  all,
  any,
  advertised: [...all, ...any.slice(0, 1)].join(' '),
})

/** Routes that accept every issuer. The routes share the token cache. */
export const SHARED: readonly TestRoute[] = [
  testRoute('/api/read', '', ['courses:read']),
  testRoute('/api/write', '', ['courses:write']),
  testRoute('/api/both', '', ['courses:read', 'orders:read']),
  testRoute('/api/any', '', [], ['posts:read', 'courses:read']),
  testRoute('/api/open', '', []),
  testRoute('/mcp', '/mcp', ['courses:read']),
  testRoute('/mcp/open', '/mcp', []),
  // The two paths match the route `/**`, but belong to different resources.
  testRoute('/mcp/wide', '/mcp', ['posts:read']),
  testRoute('/wide', '', ['posts:read']),
]

/** Each of these routes accepts one issuer. */
export const ONLY: Readonly<Record<'a' | 'b' | 'd', TestRoute>> = {
  a: testRoute('/only-a', '/only-a', ['courses:read']),
  b: testRoute('/only-b', '/only-b', ['courses:read']),
  d: testRoute('/only-d', '/only-d', ['courses:read']),
}

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: matrix
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: read, match: { methods: [GET], path: /api/read }, scopes: { all: [courses:read] } }
  - { name: write, match: { methods: [GET], path: /api/write }, scopes: { all: [courses:write] } }
  - { name: both, match: { methods: [GET], path: /api/both }, scopes: { all: [courses:read, orders:read] } }
  - { name: any, match: { methods: [GET], path: /api/any }, scopes: { any: [posts:read, courses:read] } }
  - { name: open, match: { methods: [GET], path: /api/open } }
  - { name: mcp, match: { methods: [GET], path: /mcp }, scopes: { all: [courses:read] } }
  - { name: mcp-open, match: { methods: [GET], path: /mcp/open } }
  - { name: wide, match: { methods: [GET], path: "/**" }, scopes: { all: [posts:read] } }
  - { name: only-a, match: { methods: [GET], path: /only-a }, scopes: { all: [courses:read] } }
  - { name: only-b, match: { methods: [GET], path: /only-b }, scopes: { all: [courses:read] } }
  - { name: only-d, match: { methods: [GET], path: /only-d }, scopes: { all: [courses:read] } }
`

/** A gateway with four issuers and five resources. */
export type Matrix = {
  readonly under: GatewayUnderTest
  /** Issuer A. Introspects opaque tokens. */
  readonly a: TestIssuer
  /** Issuer B. Issues JWTs, which the gateway verifies locally. */
  readonly b: JwtIssuer
  /** Issuer C. Issues JWTs. Its keys and the keys of B have the same `kid` values. */
  readonly c: JwtIssuer
  /** Issuer D. Introspects opaque tokens. On the shared routes, the gateway contacts A first. */
  readonly d: TestIssuer
  /** Returns `200`, or the status, error, metadata and scope of the challenge. */
  answerAt(where: TestRoute, token: string): Promise<string>
  /** Returns the hits and misses of the token cache since the last call. */
  cacheChange(): Promise<{ readonly hits: number; readonly misses: number }>
}

export async function startMatrix(t: Test): Promise<Matrix> {
  const [b, c] = [await startJwtIssuer(), await startJwtIssuer()]
  const d = await startIssuer({ issuer: D, audience: BASE_URL })
  t.teardown(() => Promise.all([b.close(), c.close(), d.close()]))
  const asked: IssuerConfig = {
    ...aJwtIssuerConfig(D),
    jwt: undefined,
  }
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => {
      const [first] = config.issuers
      if (first?.introspection === undefined) throw new Error('the first issuer is asked about tokens')
      const introspection = { ...first.introspection, endpoint: d.endpoint }
      const catalogue = new Map(config.catalogue)
      const write = catalogue.get('courses:write')
      if (write !== undefined) catalogue.set('courses:write', { ...write, implies: ['courses:read'] })
      return {
        ...config,
        catalogue,
        issuers: [first, aJwtIssuerConfig(b.issuer), aJwtIssuerConfig(c.issuer), { ...asked, introspection }],
        resources: [
          { path: '/mcp' },
          { path: '/only-a', issuers: [BASE_URL] },
          { path: '/only-b', issuers: [b.issuer] },
          { path: '/only-d', issuers: [D] },
        ],
      }
    },
  })
  const { gateway, issuer: a } = under
  let counted = { hits: 0, misses: 0 }
  return {
    under,
    a,
    b,
    c,
    d,
    async answerAt({ path }, token) {
      const { status, json, headers } = await send(gateway.url + path, { token })
      if (status < 400) return String(status)
      const { parameters } = parseChallenge(headers.get('www-authenticate') ?? 'None')
      return `${status} ${json['error']} ${parameters['resource_metadata']} ${parameters['scope'] ?? ''}`.trim()
    },
    async cacheChange() {
      const { text } = await send(`${gateway.managementUrl}/metrics`)
      const sum = (name: string) =>
        [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, 'gm'))].reduce(
          (total, [, value]) => total + Number(value),
          0,
        )
      const now = {
        hits: sum('scopegate_token_cache_hits_total'),
        misses: sum('scopegate_token_cache_misses_total'),
      }
      const change = { hits: now.hits - counted.hits, misses: now.misses - counted.misses }
      counted = now
      return change
    },
  }
}
