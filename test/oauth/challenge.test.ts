import t from 'tap'
import { formatChallenge } from '../../oauth/challenge.ts'

t.test('formatChallenge() replaces quotes, backslashes and line breaks in values', async (t) => {
  const value = formatChallenge({ error: 'invalid_token', errorDescription: 'a" b\\ c\r\nSet-Cookie: x é' })
  t.equal(value, `Bearer error="invalid_token", error_description="a' b' c??Set-Cookie: x ?"`)
})

t.test('formatChallenge() returns only the scheme for an empty list of parameters', async (t) => {
  t.equal(formatChallenge({}), 'Bearer')
})

t.test(
  'RFC 6750 §3: formatChallenge() writes error, description, scope and metadata in one challenge, in that order',
  async (t) => {
    t.equal(
      formatChallenge({
        resourceMetadata: 'https://api.example/.well-known/oauth-protected-resource',
        scope: 'courses:read courses:write',
        errorDescription: 'More is needed.',
        error: 'insufficient_scope',
      }),
      'Bearer error="insufficient_scope", error_description="More is needed.", scope="courses:read courses:write", resource_metadata="https://api.example/.well-known/oauth-protected-resource"',
    )
  },
)
