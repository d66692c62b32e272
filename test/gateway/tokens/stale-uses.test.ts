import t from 'tap'
import { createStaleUses } from '../../../gateway/tokens/stale-uses.ts'
import { aClock } from '../../fixtures/a-clock.ts'

function setUp() {
  const clock = aClock()
  const lines: unknown[] = []
  let counted = 0
  const write = (fields: object) => void lines.push(fields)
  const uses = createStaleUses({
    ...clock,
    issuer: 'https://a.test',
    onUsed: () => (counted += 1),
    logger: { info: write, warn: write },
  })
  return { clock, lines, uses, counted: () => counted }
}

const BEGIN = { event: 'stale_tokens_accepted', issuer: 'https://a.test' }

t.test('the stale state begins with the first use, and ends ten seconds after the last use', async (t) => {
  const { clock, lines, uses, counted } = setUp()
  t.equal(uses.isActive, false)
  for (let use = 0; use < 5; use++) {
    uses.used()
    t.equal(uses.isActive, true)
    await clock.advance(4_000)
  }
  t.same(lines, [BEGIN])
  await clock.advance(5_999)
  t.equal(uses.isActive, true)
  await clock.advance(1)
  t.equal(uses.isActive, false)
  t.same(lines, [BEGIN, { event: 'stale_tokens_ended', issuer: 'https://a.test', count: 5, seconds: 16 }])
  t.equal(counted(), 5)
  await clock.advance(60_000)
  uses.used()
  t.equal(lines.length, 3, 'another outage has its own lines')
  uses.close()
  await clock.advance(60_000)
  t.equal(lines.length, 3, 'a closed record logs nothing')
})
