import t from 'tap'
import { measureCoreMicros, parseProgramTicks } from '../../bench/measure-core.ts'

const STAT = `cpu  100 20 30 4000 5 6 7 8 0 0
cpu0 1 2 4 4000 5 6 7 8 0 0
cpu1 10 20 40 4000 5 6 7 8 0 0
cpu10 900 900 900 4000 5 6 7 8 0 0
intr 1 2 3
`

t.test(
  'parseProgramTicks() counts programs on one processor, without idle time and interrupts',
  async (t) => {
    t.equal(parseProgramTicks(STAT, '1'), 70)
    t.equal(parseProgramTicks(STAT, '10'), 2700)
  },
)

t.test('measureCoreMicros() reads this machine', async (t) => {
  t.ok(measureCoreMicros('0') > 0)
})
