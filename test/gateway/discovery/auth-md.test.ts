import t from 'tap'
import { type AuthWalkthroughOptions, authWalkthrough } from '../../../gateway/discovery/auth-md.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'
import { testResources } from '../../fixtures/test-resources.ts'

const textOf = (change: Partial<AuthWalkthroughOptions>): string =>
  authWalkthrough({
    baseUrl: 'https://api.test',
    hasReference: true,
    apiName: 'Test',
    bundledAuthorizationServer: false,
    catalogue: aCatalogue(),
    routes: [aPolicyRoute()],
    resources: testResources([]),
    limits: { bodyBytes: 1, headersBytes: 1, targetBytes: 1, tokenBytes: 1 },
    ...change,
  })

const rowsOf = (change: Partial<AuthWalkthroughOptions>): readonly string[] =>
  textOf(change)
    .split('\n')
    .filter((line) => line.includes('429'))

t.test('authWalkthrough() mentions the status 429 only if a client can receive it', async (t) => {
  const rateLimit = { requests: 6, perMs: 60_000, by: 'client' as const }
  t.same(rowsOf({}), [])
  t.match(rowsOf({ routes: [aPolicyRoute({ rateLimit })] }), [/^\| 429 `rate_limited` \| API \|/])
  const sharedLimits = [{ name: 'api', requests: 6, perMs: 60_000, key: 'client' as const }]
  t.match(rowsOf({ routes: [aPolicyRoute({ sharedLimits })] }), [/^\| 429 `rate_limited` \| API \|/])
  t.match(rowsOf({ routes: [aPolicyRoute({ websocket: true })] }), [/^\| 429 `rate_limited` \| API \|/])
  t.match(rowsOf({ bundledAuthorizationServer: true }), [/^\| 429 `rate_limited` \| registration \|/])
})

t.test('authWalkthrough() mentions client documents only for the bundled authorization server', async (t) => {
  t.notMatch(textOf({}), 'client_id_metadata_document_supported')
  t.match(textOf({ bundledAuthorizationServer: true }), '`client_id_metadata_document_supported`')
})

t.test(
  'authWalkthrough() lists resources with separate tokens, and its example call needs no such token',
  async (t) => {
    t.notMatch(textOf({}), 'require their own tokens')
    const routes = [aPolicyRoute({ path: '/mcp/courses' }), aPolicyRoute({ path: '/api/posts' })]
    const text = textOf({ routes, resources: testResources([{ path: '/mcp', name: 'A | B' }]) })
    t.match(
      text,
      '| `https://api.test/mcp` | A \\| B | https://api.test/.well-known/oauth-protected-resource/mcp |',
    )
    t.match(text, 'https://api.test/api/posts')
    t.notMatch(text, 'https://api.test/mcp/courses')
  },
)
