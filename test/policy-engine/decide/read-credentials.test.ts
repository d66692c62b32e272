import t from 'tap'
import { readCredentials } from '../../../policy-engine/decide/read-credentials.ts'

type Input = {
  readonly query?: string
  readonly authorization?: string
  readonly authorizationCount?: number
  readonly proof?: string
}

const LIMITS = { tokenBytes: 64 }

function read({ query = '', authorization, authorizationCount, proof }: Input) {
  const count = authorizationCount ?? (authorization === undefined ? 0 : 1)
  return readCredentials({ query, headers: { authorization, authorizationCount: count, proof } }, LIMITS)
}

for (const authorization of [
  'Bearer',
  'Bearer ',
  'bearer',
  'Bearer a b',
  'Bearer a,b',
  'Bearer a, Bearer b',
  'Bearer "a"',
  'Bearer a\tb',
  'Bearer =a',
  'Bearer a=b',
  'Bearer ä',
  'Bearer \u0000',
  'Bearer <script>',
  `Bearer ${'a'.repeat(100)}`,
])
  t.test(
    `RFC 6750 §3.1: a malformed token is invalid, not absent: ${JSON.stringify(authorization).slice(0, 40)}`,
    async (t) => {
      t.same(read({ authorization }), { rejected: 'token_invalid', fault: { reason: 'malformed' } })
    },
  )

for (const authorization of ['', 'Basic YTpi', 'Digest x', 'abc', 'Bearerabc', ' ', 'Token token="a"'])
  t.test(
    `RFC 6750 §2.1: another scheme is invalid, not absent: ${JSON.stringify(authorization)}`,
    async (t) => {
      t.same(read({ authorization }), { rejected: 'token_invalid', fault: { reason: 'unsupported_scheme' } })
    },
  )

t.test('RFC 6750 §3.1: two Authorization headers are an invalid request', async (t) => {
  t.match(read({ authorization: 'Bearer a', authorizationCount: 2 }), { rejected: 'credentials_ambiguous' })
})

for (const query of [
  '?access_token=a',
  '?x=1&access_token=a',
  '?access_token',
  '?%61ccess_token=a',
  '?access%5Ftoken=a',
])
  t.test(`RFC 6750 §2.3: a token in the query is an invalid request: ${query}`, async (t) => {
    t.match(read({ query }), { rejected: 'credentials_ambiguous' })
    t.match(read({ query, authorization: 'Bearer a' }), { rejected: 'credentials_ambiguous' })
  })

for (const query of ['?my_access_token=a', '?x=access_token', '?access_tokens=a', '?Access_Token=a', '?%zz'])
  t.test(`RFC 6750 §2.3: another query parameter is ignored: ${query}`, async (t) => {
    t.same(read({ query }), { kind: 'anonymous' })
  })

for (const authorization of ['Bearer a', 'bearer a', 'BEARER a', 'Bearer   a'])
  t.test(`RFC 6750 §2.1: the scheme is case-insensitive: ${authorization}`, async (t) => {
    t.same(read({ authorization }), { kind: 'bearer', token: 'a' })
  })

t.test('RFC 6750 §2.1: a token is a b64token', async (t) => {
  t.same(read({ authorization: 'Bearer aZ09-._~+/==' }), { kind: 'bearer', token: 'aZ09-._~+/==' })
})

t.test('readToken() reads a request without credentials as anonymous', async (t) => {
  t.same(read({}), { kind: 'anonymous' })
})

t.test('RFC 9449 §7.1: a token of the scheme DPoP requires a proof', async (t) => {
  for (const scheme of ['DPoP', 'dpop', 'DPOP']) {
    t.same(read({ authorization: `${scheme} abc`, proof: 'p' }), { kind: 'dpop', token: 'abc' })
    t.same(read({ authorization: `${scheme} abc` }), { rejected: 'proof_invalid', fault: 'missing' })
    t.same(read({ authorization: `${scheme} a b`, proof: 'p' }), {
      rejected: 'token_invalid',
      fault: { reason: 'malformed' },
    })
  }
  t.same(read({ authorization: 'Bearer abc', proof: 'p' }), { kind: 'bearer', token: 'abc' })
})

t.test(
  'readToken() reads a megabyte of Authorization in under a millisecond for any limits.token',
  async (t) => {
    const long = (piece: string): string => piece.repeat(1_048_576 / piece.length)
    for (const value of [
      long('a'),
      `${long('a')}!`,
      long('a='),
      `${long('a')}${long('=')}!`,
      long(' '),
      long('.'),
    ])
      for (const scheme of ['Bearer', 'DPoP', 'Basic']) {
        const authorization = `${scheme} ${value}`
        const input = { query: '', headers: { authorization, authorizationCount: 1, proof: 'x' } }
        const before = process.cpuUsage()
        let answer: unknown
        for (let round = 0; round < 20; round += 1) answer = readCredentials(input, { tokenBytes: 4_194_304 })
        const { user, system } = process.cpuUsage(before)
        t.same(answer, { rejected: 'token_invalid', fault: { reason: 'malformed' } })
        t.ok((user + system) / 20 < 1_000, `${(user + system) / 20} µs`)
      }
    const authorization = `Bearer ${'a'.repeat(8_192)}`
    const longest = { query: '', headers: { authorization, authorizationCount: 1, proof: undefined } }
    t.match(readCredentials(longest, { tokenBytes: 4_194_304 }), { kind: 'bearer' })
  },
)
