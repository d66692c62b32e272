import t from 'tap'
import { rejectToken } from '../../oauth/reject-token.ts'

const resourceMetadata = 'https://api.test/.well-known/oauth-protected-resource'

t.test('RFC 6750 §3.1: each error code has its status, and the challenge matches the body', async (t) => {
  const cases = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 } as const
  for (const error of ['invalid_request', 'invalid_token', 'insufficient_scope'] as const)
    t.same(rejectToken(error, 'Why.', { resourceMetadata }), {
      status: cases[error],
      error,
      description: 'Why.',
      challenge: `Bearer error="${error}", error_description="Why.", resource_metadata="${resourceMetadata}"`,
    })
})

t.test('rejectToken() lists the required scopes in the body and in the challenge', async (t) => {
  const rejection = rejectToken('insufficient_scope', 'Why.', { scope: 'a b', resourceMetadata })
  t.equal(rejection.scope, 'a b')
  t.match(rejection.challenge, 'scope="a b"')
})
