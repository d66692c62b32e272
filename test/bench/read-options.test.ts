import t from 'tap'
import { readOptions } from '../../bench/read-options.ts'

t.test('readOptions() rejects unknown options', async (t) => {
  for (const args of [
    ['--round', '3'],
    ['--rounds', '0'],
    ['--rounds', '1.5'],
    ['--seconds', '-1'],
    ['more'],
    ['--row', 'unknown'],
  ])
    t.throws(() => readOptions(args, ['start']), { code: 'ERR_BENCH_USAGE' }, args.join(' '))
})

t.test(
  'readOptions() returns at least five rounds of at least 2 s when the command line sets neither',
  async (t) => {
    t.ok(readOptions([]).rounds >= 5)
    t.ok(readOptions([]).roundSeconds >= 2)
    t.same(readOptions([], ['start', 'check']).rows, [])
    t.same(readOptions(['--row', 'start', '--row', 'check'], ['start', 'check']).rows, ['start', 'check'])
    t.match(readOptions(['--rounds', '3', '--seconds', '1']), { rounds: 3, roundSeconds: 1 })
    t.equal(readOptions(['--previous', 'HEAD~1']).previous, 'HEAD~1')
  },
)
