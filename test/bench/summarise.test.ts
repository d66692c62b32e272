import t from 'tap'
import { summarise } from '../../bench/summarise.ts'

t.test('summarise() sorts figures as numbers and leaves its input alone', async (t) => {
  const figures = [100, 9, 20]
  t.same(summarise(figures), { min: 9, median: 20, max: 100 })
  t.same(figures, [100, 9, 20])
})

t.test('summarise() takes the mean of the middle two of an even number', async (t) => {
  t.same(summarise([4, 1, 3, 2]), { min: 1, median: 2.5, max: 4 })
  t.same(summarise([5]), { min: 5, median: 5, max: 5 })
})
