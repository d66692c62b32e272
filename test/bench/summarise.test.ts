import t from 'tap'
import { summarise } from '../../bench/summarise.ts'

t.test('summarise() sorts figures as numbers and does not change its input', async (t) => {
  const figures = [100, 9, 20]
  t.same(summarise(figures), { min: 9, median: 20, max: 100 })
  t.same(figures, [100, 9, 20])
})

t.test('summarise() returns the mean of the two middle figures for an even number of figures', async (t) => {
  t.same(summarise([4, 1, 3, 2]), { min: 1, median: 2.5, max: 4 })
  t.same(summarise([5]), { min: 5, median: 5, max: 5 })
})
