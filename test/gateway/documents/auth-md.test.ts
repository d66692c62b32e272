import t from 'tap'
import { type AuthWalkthroughOptions, authWalkthrough } from '../../../gateway/documents/auth-md.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'

const rowsOf = (change: Partial<AuthWalkthroughOptions>): readonly string[] =>
  authWalkthrough({
    baseUrl: 'https://api.test',
    name: 'Test',
    issuer: 'https://issuer.test',
    bundledAuthorizationServer: false,
    catalogue: aCatalogue(),
    routes: [aPolicyRoute()],
    limits: { bodyBytes: 1, headersBytes: 1, targetBytes: 1, tokenBytes: 1 },
    ...change,
  })
    .split('\n')
    .filter((line) => line.includes('429'))

t.test('authWalkthrough() tells of 429 where somebody may hear it, and nowhere else', async (t) => {
  const rateLimit = { requests: 6, perMs: 60_000, by: 'client' as const }
  t.same(rowsOf({}), [])
  t.match(rowsOf({ routes: [aPolicyRoute({ rateLimit })] }), [/^\| 429 `rate_limited` \| API \|/])
  t.match(rowsOf({ routes: [aPolicyRoute({ websocket: true })] }), [/^\| 429 `rate_limited` \| API \|/])
  t.match(rowsOf({ bundledAuthorizationServer: true }), [/^\| 429 `rate_limited` \| registration \|/])
})
