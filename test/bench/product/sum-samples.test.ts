import t from 'tap'
import { sumSamples } from '../../../bench/product/sum-samples.ts'

const SCRAPE = `# HELP requests_total Requests answered.
# TYPE requests_total counter
requests_total{route="a",code="200"} 41
requests_total{route="b c",code="200"} 1 1700000000000
requests_total_created 5
other_total 7
`

t.test(
  'sumSamples() adds up the samples of one counter with all label sets, and ignores other counters',
  async (t) => {
    t.equal(sumSamples(SCRAPE, 'requests_total'), 42)
    t.equal(sumSamples(SCRAPE, 'other_total'), 7)
    t.equal(sumSamples(SCRAPE, 'requests'), 0)
  },
)
