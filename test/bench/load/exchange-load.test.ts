import t from 'tap'
import { createExchangeLoad } from '../../../bench/load/exchange-load.ts'
import { CONNECTIONS } from '../../../bench/load/load.ts'

const target = { url: 'http://127.0.0.1/token', headers: {}, expectedBody: '' }

t.test('createExchangeLoad() counts every response, and waits for the last responses', async (t) => {
  const sent = Array.from({ length: CONNECTIONS }, () => 0)
  let open = 0
  const load = createExchangeLoad(
    new Map([
      [
        target.url,
        async (connection) => {
          sent[connection] = (sent[connection] ?? 0) + 1
          open += 1
          await new Promise(setImmediate)
          open -= 1
          return 'right'
        },
      ],
    ]),
  )
  const result = await load.run(target, 0.05)
  t.equal(open, 0)
  t.ok(sent.every((count) => count > 0))
  t.equal(
    result.right,
    sent.reduce((sum, count) => sum + count),
  )
  t.match(result, { wrongStatus: 0, wrongBody: 0, broken: 0 })
})

t.test('createExchangeLoad() ends a connection after a wrong or missing response', async (t) => {
  const outcomes = ['wrongStatus', 'wrongBody'] as const
  const load = createExchangeLoad(
    new Map([
      [
        target.url,
        async (connection) => {
          const outcome = outcomes[connection]
          if (outcome === undefined) throw new Error('the connection failed')
          return outcome
        },
      ],
    ]),
  )
  t.match(await load.run(target, 1), { right: 0, wrongStatus: 1, wrongBody: 1, broken: CONNECTIONS - 2 })
})

t.test(
  'createExchangeLoad() ends a connection without prepared input, and counts no request for it',
  async (t) => {
    let prepared = 3
    const load = createExchangeLoad(
      new Map([[target.url, async () => (prepared-- > 0 ? ('right' as const) : ('finished' as const))]]),
    )
    const { elapsedMs: _elapsedMs, ...counts } = await load.run(target, 60)
    t.strictSame(counts, { right: 3, wrongStatus: 0, wrongBody: 0, broken: 0 })
  },
)
