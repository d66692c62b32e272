import t from 'tap'
import { checkUse, measuredAdded, measuredUses, usesWithin } from '../../../bench/soak/check-token-uses.ts'
import type { TokenUse } from '../../../bench/soak/token-traffic.ts'

const aUse = (change: Partial<TokenUse> = {}): TokenUse => ({
  stream: 'JWT, known',
  url: 'http://gateway/a',
  token: 'a',
  status: 200,
  atMs: 10_000,
  tookMs: 1,
  ...change,
})
const rules = { bad: new Set(['bad']), revokedAtMs: new Map([['gone', 20_000]]) }

t.test(
  'checkUse() requires that the gateway accepts valid tokens and never accepts invalid tokens',
  async (t) => {
    t.equal(checkUse(aUse(), rules), 'right')
    for (const status of [0, 401, 403, 429, 500, 503]) t.equal(checkUse(aUse({ status }), rules), 'failure')
    t.equal(checkUse(aUse({ stream: 'bad' }), rules), 'wrong allow')
    for (const status of [401, 403, 503]) t.equal(checkUse(aUse({ stream: 'bad', status }), rules), 'right')
  },
)

t.test(
  'checkUse() requires that a revoked token is rejected after one second, and allows both outcomes before',
  async (t) => {
    const gone = (atMs: number, status: number) => checkUse(aUse({ token: 'gone', atMs, status }), rules)
    t.equal(gone(18_999, 200), 'right')
    t.equal(gone(18_999, 401), 'failure')
    t.equal(gone(19_500, 401), undefined, 'the request may have been in transit when the token was revoked')
    t.equal(gone(20_999, 200), undefined)
    t.equal(gone(21_000, 200), 'wrong allow')
    t.equal(gone(21_000, 401), 'right')
  },
)

t.test('measuredUses() counts wrong allows and failures of JWT routes separately', async (t) => {
  const uses = [
    aUse(),
    aUse({ stream: 'bad' }),
    aUse({ status: 503 }),
    aUse({ stream: 'opaque, new', status: 503 }),
    aUse({ stream: 'opaque, new', status: 0 }),
  ]
  const rows = measuredUses('away', uses, rules)
  t.same(
    rows.map(({ measured, passed }) => [measured, passed]),
    [
      ['1', false],
      ['1', false],
      ['2', false],
    ],
  )
  t.ok(measuredUses('away', [aUse()], rules).every(({ passed }) => passed))
})

t.test('measuredAdded() compares each stream with the control', async (t) => {
  const uses = [
    aUse({ tookMs: 9 }),
    aUse({ url: 'http://control/a', tookMs: 2 }),
    aUse({ stream: 'opaque', tookMs: 3 }),
    aUse({ stream: 'opaque', url: 'http://control/a', tookMs: 2 }),
  ]
  const isControl = ({ url }: TokenUse) => url.startsWith('http://control')
  const [jwt, opaque] = measuredAdded('away', uses, { isControl, limitMs: 5 })
  t.match(jwt, { measured: '9.0 ms, 7.0 ms', passed: false })
  t.match(opaque, { measured: '3.0 ms, 1.0 ms', passed: true })
  t.match(measuredAdded('away', uses, { isControl, limitMs: undefined })[0], { passed: undefined })
})

t.test('usesWithin() counts a request at its send time', async (t) => {
  const uses = [aUse({ atMs: 1 }), aUse({ atMs: 2 }), aUse({ atMs: 3 })]
  t.same(usesWithin(uses, 2, 3), [uses[1]])
})
