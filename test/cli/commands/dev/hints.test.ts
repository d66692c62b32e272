import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { formatLogLine } from '../../../../cli/commands/dev/format-log-line.ts'
import { createHints } from '../../../../cli/commands/dev/hints.ts'

const BASE_URL = 'http://127.0.0.1:8080'

const MISTAKES: readonly (readonly [name: string, entry: object, hint: string | RegExp])[] = [
  [
    'a request without a token',
    { 'http.response.status_code': 401, 'auth.reason': 'anonymous' },
    'The request has no token. Sign in at http://127.0.0.1:8080/docs',
  ],
  [
    'an expired token',
    { 'http.response.status_code': 401, 'auth.reason': 'expired', 'auth.token_fault': 'expired' },
    'The token is expired. Refresh it, or sign in again at http://127.0.0.1:8080/docs.',
  ],
  [
    'a malformed token',
    { 'http.response.status_code': 401, 'auth.reason': 'invalid_token', 'auth.token_fault': 'malformed' },
    /^ +The token is malformed\. Check that (?!.*[Ss]ign in)/,
  ],
  [
    'a token that the issuer does not know',
    { 'http.response.status_code': 401, 'auth.reason': 'invalid_token', 'auth.token_fault': 'inactive' },
    'Check that the token is complete, or sign in again at',
  ],
  [
    'a token with another fault',
    { 'http.response.status_code': 401, 'auth.reason': 'invalid_token', 'auth.token_fault': 'wrong_type' },
    /The token is not valid \(wrong_type\)\. error_description in the response (?!.*[Ss]ign in)/,
  ],
  [
    'an invalid DPoP proof',
    { 'http.response.status_code': 401, 'auth.reason': 'invalid_proof' },
    /The DPoP proof is not valid\. .*\/docs\/errors\/invalid_dpop_proof$/,
  ],
  [
    'a sign-in that is not sufficient',
    { 'http.response.status_code': 401, 'auth.reason': 'insufficient_user_authentication' },
    'The person must sign in again, as the challenge',
  ],
  [
    'a 401 of the upstream',
    { 'http.response.status_code': 401, 'auth.decision': 'allow', 'auth.reason': 'ok', upstream: 'mine' },
    'The gateway allowed the request, and the upstream mine sent the 401.',
  ],
  [
    'a missing scope',
    { 'http.response.status_code': 403, 'auth.reason': 'insufficient_scope' },
    'At http://127.0.0.1:8080/docs, select the scope and sign in again.',
  ],
  ['an unknown path', { 'http.response.status_code': 404 }, 'No policy has this path.'],
  [
    'an upstream that does not run',
    { 'http.response.status_code': 502, route: 'mine/read', upstream: 'mine', 'error.code': 'ECONNREFUSED' },
    'The upstream mine cannot be reached (ECONNREFUSED).',
  ],
  [
    'bytes that are not a valid request, such as TLS',
    { 'http.response.status_code': 400, 'http.request.method': undefined },
    /cannot read the request as HTTP\/1\.1\. If the client used https: .*, use http:\/\/127\.0\.0\.1:8080\.$/,
  ],
]

for (const [name, fields, expected] of MISTAKES)
  t.test(`the terminal shows the remedy for ${name} once`, async (t) => {
    const hint = createHints(BASE_URL)
    const entry = { event: 'access', 'http.request.method': 'GET', 'url.path': '/x', ...fields }
    const show = () => stripVTControlCharacters(formatLogLine('gateway', JSON.stringify(entry), hint) ?? '')
    const [, below] = show().split('\n')
    t.match(below, expected)
    t.notMatch(show(), '\n', 'the second request has no hint')
  })

t.test('the terminal shows no hint for an allowed request, and for a 404 of the upstream', async (t) => {
  const hint = createHints(BASE_URL)
  t.equal(hint({ 'http.response.status_code': 200 }), undefined)
  t.equal(hint({ 'http.response.status_code': 404, route: 'courses/read-course' }), undefined)
  t.equal(hint({ 'http.response.status_code': 403, 'auth.reason': 'condition' }), undefined)
})
