import t from 'tap'
import { summarise } from '../../bench/summarise.ts'

t.test('summarise() sorts figures as numbers and does not change its input', async (t) => {
  const figures = [100, 9, 20]
  t.match(summarise(figures), { min: 9, median: 20, max: 100 })
  t.same(figures, [100, 9, 20])
})

t.test('summarise() returns the mean of the two middle figures for an even number of figures', async (t) => {
  t.match(summarise([4, 1, 3, 2]), { min: 1, median: 2.5, max: 4 })
})

t.test('summarise() returns the quartiles, between two figures if necessary', async (t) => {
  t.match(summarise([50, 10, 40, 20, 30]), { lowerQuartile: 20, upperQuartile: 40 })
  t.match(summarise([4, 1, 3, 2]), { lowerQuartile: 1.75, upperQuartile: 3.25 })
  t.same(summarise([5]), { min: 5, lowerQuartile: 5, median: 5, upperQuartile: 5, max: 5 })
})
