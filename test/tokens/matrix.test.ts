import t, { type Test } from 'tap'
import { BASE_URL } from '../fixtures/a-gateway.ts'
import { AUDIENCES, BROKEN_SCOPES, expected, JWT_SCOPES, SCOPES, type Shape } from './matrix-shapes.ts'
import { D, type Matrix, ONLY, SHARED, startMatrix, type TestRoute } from './matrix-world.ts'

// Class 48: the cache contains the claims of a token, not a decision. The test sends each token to one route, then to
// all routes. Each later request must hit the cache. Its result must be the same as the result of a first request to
// this route.

let count = 0

/** Whether the test combines each audience with each form of the scopes. `npm run soak:tokens` sets the variable. */
const IS_FULL = process.env['TOKEN_MATRIX'] === 'full'

/**
 * Returns the forms of the scopes to send. If the audience is invalid, returns only scopes that are sufficient for a
 * route.
 */
function scopesWith(audience: Shape, scopes: readonly Shape[]): readonly Shape[] {
  if (IS_FULL || audience.means.length > 0) return scopes
  return scopes.filter(({ means }) => means.length > 0)
}

/** Sends a token to one route, then to all routes. Each later request must hit the cache. */
async function replay(
  t: Test,
  { under, answerAt, cacheChange }: Matrix,
  token: { readonly what: string; readonly subject: string; readonly text: string },
  want: (where: TestRoute) => string,
): Promise<void> {
  count += 1
  const first = SHARED[count % SHARED.length] as TestRoute
  const forwarded = under.upstream.requests.length
  const got = [await answerAt(first, token.text)]
  for (const where of SHARED) got.push(await answerAt(where, token.text))
  const wanted = [first, ...SHARED].map(want)
  t.same(got, wanted, `${token.what}, first sent to ${first.path}`)
  t.same(
    await cacheChange(),
    { hits: SHARED.length, misses: 1 },
    'every later request used the cached token status',
  )
  const served = under.upstream.requests.slice(forwarded)
  t.equal(served.length, wanted.filter((one) => one === '200').length, 'nothing else was forwarded')
  t.same(
    served.map(({ headers }) =>
      headers.filter(([name]) => name === 'x-auth-subject').map(([, value]) => value),
    ),
    served.map(() => [token.subject]),
  )
}

t.test(
  'classes 43, 48, 52: checks audience and scopes of a cached opaque token on every route',
  async (t) => {
    const matrix = await startMatrix(t)
    const before = count
    for (const audience of AUDIENCES)
      for (const scope of scopesWith(audience, SCOPES)) {
        const subject = `opaque-${count}`
        const text = matrix.a.store(subject, { aud: audience.value, scope: scope.value, sub: subject })
        const what = `aud ${audience.what}, scope ${scope.what}`
        await replay(t, matrix, { what, subject, text }, (where) =>
          expected(where, audience.means, scope.means),
        )
      }
    t.equal(matrix.a.asked.length, count - before, 'the gateway introspected each token once')
    t.equal(matrix.d.asked.length, 0, 'the gateway stops introspection at the issuer that knows the token')
  },
)

t.test('classes 43, 48, 52: checks audience and scopes of a cached JWT on every route', async (t) => {
  const matrix = await startMatrix(t)
  for (const audience of AUDIENCES)
    for (const scope of scopesWith(audience, [...SCOPES, ...JWT_SCOPES])) {
      const subject = `jwt-${count}`
      const text = matrix.b.sign({ aud: audience.value, scope: scope.value, sub: subject })
      const what = `aud ${audience.what}, scope ${scope.what}`
      await replay(t, matrix, { what, subject, text }, (where) =>
        expected(where, audience.means, scope.means),
      )
    }
  t.equal(matrix.a.asked.length + matrix.d.asked.length, 0, 'the gateway introspects no JWT')
})

const ALL: Shape['means'] = [
  BASE_URL,
  `${BASE_URL}/mcp`,
  `${BASE_URL}/only-a`,
  `${BASE_URL}/only-b`,
  `${BASE_URL}/only-d`,
]
const EVERYTHING = 'courses:read courses:write orders:read posts:read'

t.test('class 52: rejects a JWT with malformed scopes, also on routes that require no scope', async (t) => {
  const matrix = await startMatrix(t)
  for (const scope of BROKEN_SCOPES) {
    const text = matrix.b.sign({ aud: ALL, scope })
    await replay(t, matrix, { what: JSON.stringify(scope), subject: '', text }, (where) =>
      expected(where, [], []),
    )
  }
})

t.test(
  'class 44: accepts a key only for tokens of its own issuer, even when key IDs are equal',
  async (t) => {
    const matrix = await startMatrix(t)
    const { a, b, c, d } = matrix
    t.equal(b.key().jwk['kid'], c.key().jwk['kid'], 'both keys have the same kid')
    const claims = { aud: ALL, scope: EVERYTHING }
    for (const [what, text] of [
      ['signed by C with iss of B', c.sign({ ...claims, iss: b.issuer })],
      ['signed by B with iss of C', b.sign({ ...claims, iss: c.issuer })],
      ['signed by B with iss of A', b.sign({ ...claims, iss: BASE_URL })],
      ['signed by B with iss of D', b.sign({ ...claims, iss: D })],
    ] as const)
      await replay(t, matrix, { what, subject: '', text }, (where) => expected(where, [], []))
    t.equal(a.asked.length, 1, 'the gateway introspects the token with iss of A at A once')
    t.equal(d.asked.length, 1, 'the gateway introspects the token with iss of D at D once')
    const nobody = b.sign({ ...claims, iss: 'https://nobody.test' })
    for (const where of SHARED) t.equal(await matrix.answerAt(where, nobody), expected(where, [], []))
    t.equal(a.asked.length + d.asked.length, 2, 'the gateway introspects no token with an unknown iss')
  },
)

t.test(
  'class 44: a resource of one issuer rejects tokens of the others without contacting their issuers',
  async (t) => {
    const matrix = await startMatrix(t)
    const { a, b, d, answerAt } = matrix
    const tokens = {
      a: a.store('of-a', { aud: ALL, scope: EVERYTHING }),
      b: b.sign({ aud: ALL, scope: EVERYTHING }),
      d: d.store('of-d', { aud: ALL, scope: EVERYTHING }),
    }
    for (const [owner, text] of Object.entries(tokens)) {
      t.equal(
        await answerAt(SHARED[0] as TestRoute, text),
        '200',
        `a token of ${owner} is valid on a route that accepts every issuer`,
      )
      for (const [name, where] of Object.entries(ONLY)) {
        const asked = { a: a.asked.length, b: b.asked.length, d: d.asked.length }
        t.equal(
          await answerAt(where, text),
          name === owner ? '200' : expected(where, [], []),
          `a token of ${owner} at ${where.path}`,
        )
        const opaqueAt = owner === 'b' ? undefined : name
        t.same(
          { a: a.asked.length - asked.a, b: b.asked.length - asked.b, d: d.asked.length - asked.d },
          { a: opaqueAt === 'a' ? 1 : 0, b: 0, d: opaqueAt === 'd' ? 1 : 0 },
          'the gateway introspects an opaque token only at the issuer of the resource, and no JWT',
        )
      }
    }
  },
)

for (const [first, second] of [
  ['a', 'd'],
  ['d', 'a'],
] as const)
  t.test(
    `class 49: treats equal opaque tokens of two issuers as two tokens, first ${first}, then ${second}`,
    async (t) => {
      const matrix = await startMatrix(t)
      const { a, d, answerAt, under } = matrix
      const text = 'the-same-text'
      a.store(text, { aud: ALL, scope: EVERYTHING, sub: 'of-a' })
      d.store(text, { aud: [`${BASE_URL}/only-d`], scope: 'courses:read', sub: 'of-d' })
      const subjectAt = async (where: TestRoute) => {
        t.equal(await answerAt(where, text), '200')
        return under.upstream.seen('x-auth-subject')
      }
      for (let round = 0; round < 3; round++)
        for (const name of [first, second]) t.same(await subjectAt(ONLY[name]), [`of-${name}`])
      t.same(
        await subjectAt(SHARED[0] as TestRoute),
        ['of-a'],
        'a route that accepts both uses the first configured issuer',
      )
      t.equal(await answerAt(ONLY.b, text), expected(ONLY.b, [], []), 'B supports no introspection')

      a.revoke(text, { push: false })
      const both = ['of-a-and-d', 'of-d-alone'] as const
      a.store(both[0], { aud: ALL, scope: EVERYTHING })
      d.store(both[0], { aud: ALL, scope: '' })
      d.store(both[1], { aud: ALL, scope: EVERYTHING })
      t.equal(await answerAt(ONLY.a, both[0]), '200')
      t.match(await answerAt(ONLY.d, both[0]), /^403 /, 'the result of A does not apply at D')
      t.equal(await answerAt(ONLY.d, both[1]), '200')
      t.match(await answerAt(ONLY.a, both[1]), /^401 /, 'the result of D does not apply at A')
    },
  )

t.test('class 49: concurrent introspections of different tokens never share a result', async (t) => {
  const { a, under, answerAt } = await startMatrix(t)
  const names = Array.from({ length: 40 }, (_, index) => `caller-${index}`)
  for (const name of names) a.store(name, { aud: ALL, scope: EVERYTHING, sub: name })
  // Sends each token twice. The two requests share one introspection call.
  const open = SHARED[4] as TestRoute
  const answers = await Promise.all([...names, ...names].map((name) => answerAt(open, name)))
  t.ok(answers.every((answer) => answer === '200'))
  const seen = under.upstream.requests.map(
    ({ headers }) => headers.find(([name]) => name === 'x-auth-subject')?.[1],
  )
  t.same(seen.toSorted(), [...names, ...names].toSorted())
  t.equal(a.asked.length, names.length)
})
