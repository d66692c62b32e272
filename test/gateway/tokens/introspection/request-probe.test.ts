import t from 'tap'
import { createRequestProbe } from '../../../../gateway/tokens/introspection/request-probe.ts'
import { until } from '../../../fixtures/until.ts'

/** The test accepts or rejects each probe request. */
function setUp() {
  const clock = { ms: 0 }
  const sent: { readonly token: string; readonly accept: () => void; readonly reject: () => void }[] = []
  const failures: unknown[] = []
  const probe = createRequestProbe({
    tickMs: () => clock.ms,
    onFailed: (error) => failures.push(error),
    send: (token) =>
      new Promise((resolve, reject) => {
        sent.push({ token, accept: () => resolve({}), reject: () => reject(new Error('rejected')) })
      }),
  })
  const isAccepted = () => probe.isAccepted(new AbortController().signal)
  const nth = (number: number) => until(`request ${number} is sent`, async () => sent[number - 1])
  return { clock, sent, failures, probe, isAccepted, nth }
}

t.test('callers do not use a probe that began before their call, and share the next probe', async (t) => {
  const { sent, isAccepted, nth } = setUp()
  const first = isAccepted()
  const request = await nth(1)
  const others = Array.from({ length: 30 }, isAccepted)
  await new Promise(setImmediate)
  t.equal(sent.length, 1, 'one probe at a time')
  request.accept()
  t.equal(await first, true)
  ;(await nth(2)).reject()
  t.same(new Set(await Promise.all(others)), new Set([false]))
  t.equal(sent.length, 2)
})

t.test('after a failed probe no request is sent for one second', async (t) => {
  const { clock, sent, failures, isAccepted, nth } = setUp()
  const first = isAccepted()
  ;(await nth(1)).reject()
  t.equal(await first, false)
  t.equal(failures.length, 1)
  clock.ms = 999
  t.equal(await isAccepted(), false)
  t.equal(sent.length, 1)
  clock.ms = 1_000
  const second = isAccepted()
  ;(await nth(2)).accept()
  t.equal(await second, true)
  t.equal(failures.length, 1)
})

t.test(
  'a probe request has the format of the last active token, and its rejection ends the probe',
  async (t) => {
    const { sent, failures, probe, isAccepted, nth } = setUp()
    probe.active('abcdefghij0123456789')
    const result = isAccepted()
    ;(await nth(1)).reject()
    t.equal(await result, false)
    t.same(
      sent.map(({ token }) => token),
      ['abcdefghij2232222229'],
    )
    t.equal(failures.length, 1)
  },
)

t.test('the probe sends a default token if the last active token is too short to change', async (t) => {
  const { probe, isAccepted, nth } = setUp()
  probe.active('a')
  const result = isAccepted()
  const { token, accept } = await nth(1)
  t.equal(token, 'scopegate-introspection-probe')
  accept()
  t.equal(await result, true)
})
