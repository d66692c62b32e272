import t from 'tap'
import { restartDelayMs } from '../../../gateway/cluster/restart-delay.ts'

t.test('restartDelayMs() starts at 0, doubles, and is at most 10 s', async (t) => {
  t.strictSame([0, 1, 2, 3].map(restartDelayMs), [0, 100, 200, 400])
  t.equal(restartDelayMs(50), 10_000)
  t.equal(restartDelayMs(5_000), 10_000)
})
