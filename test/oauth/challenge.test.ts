import t from 'tap'
import { formatChallenge } from '../../oauth/challenge.ts'

t.test('formatChallenge() can not be broken out of by a quote, a backslash or a line break', async (t) => {
  const value = formatChallenge({ error: 'invalid_token', errorDescription: 'a" b\\ c\r\nSet-Cookie: x é' })
  t.equal(value, `Bearer error="invalid_token", error_description="a' b' c??Set-Cookie: x ?"`)
})

t.test('formatChallenge() says only the scheme when there is nothing to say', async (t) => {
  t.equal(formatChallenge({}), 'Bearer')
})

t.test(
  '§3 RFC 6750: formatChallenge() keeps error, description, scope and metadata in one challenge, in that order',
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
