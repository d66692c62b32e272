import t from 'tap'
import { refuseToken } from '../../oauth/refuse-token.ts'

const resourceMetadata = 'https://api.test/.well-known/oauth-protected-resource'

t.test('RFC 6750 §3.1: each error code has its status, and the challenge matches the body', async (t) => {
  const cases = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 } as const
  for (const error of ['invalid_request', 'invalid_token', 'insufficient_scope'] as const)
    t.same(refuseToken(error, 'Why.', { resourceMetadata }), {
      status: cases[error],
      error,
      description: 'Why.',
      challenge: `Bearer error="${error}", error_description="Why.", resource_metadata="${resourceMetadata}"`,
    })
})

t.test('refuseToken() lists the required scopes in the body and in the challenge', async (t) => {
  const refusal = refuseToken('insufficient_scope', 'Why.', { scope: 'a b', resourceMetadata })
  t.equal(refusal.scope, 'a b')
  t.match(refusal.challenge, 'scope="a b"')
})
