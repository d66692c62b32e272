import type { KoaContextWithOIDC } from 'oidc-provider'
import t from 'tap'
import { isUnknownToken, reportInactive } from '../../../authorization-server/engine/provider-events.ts'

const INTROSPECTION = '/api/oauth/introspect'
const UNKNOWN = { error: 'unsupported_token_type' }

t.test('isUnknownToken() is true only for this error of introspection', async (t) => {
  t.equal(isUnknownToken(INTROSPECTION, 'unsupported_token_type'), true)
  t.equal(isUnknownToken('/api/oauth/revoke', 'unsupported_token_type'), false)
  t.equal(isUnknownToken(INTROSPECTION, 'invalid_client'), false)
})

t.test('§2.2 of RFC 7662: reportInactive() replaces only the error for an unknown token', async (t) => {
  const after = (path: string, body: unknown) => {
    const ctx = { path, body, status: 400 }
    reportInactive(ctx as unknown as KoaContextWithOIDC)
    return [ctx.status, ctx.body]
  }
  t.strictSame(after(INTROSPECTION, UNKNOWN), [200, { active: false }])
  const unchanged: readonly (readonly [string, unknown])[] = [
    ['/api/oauth/revoke', UNKNOWN],
    [INTROSPECTION, { error: 'invalid_client' }],
    [INTROSPECTION, { active: true }],
    [INTROSPECTION, 'unsupported_token_type'],
    [INTROSPECTION, null],
    [INTROSPECTION, undefined],
  ]
  for (const [path, body] of unchanged) t.strictSame(after(path, body), [400, body])
})
