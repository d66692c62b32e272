import t from 'tap'
import { mergeChecks } from '../../../gateway/cluster/merge-checks.ts'

t.test('mergeChecks() counts the workers in which a check fails or is degraded', (t) => {
  t.strictSame(
    mergeChecks([
      [
        { name: 'keys', ok: false, detail: 'never fetched' },
        { name: 'redis', ok: true },
        { name: 'event_loop', ok: true, detail: 'of one worker alone' },
      ],
      [
        { name: 'keys', ok: true },
        { name: 'redis', ok: true, degraded: true, detail: 'no connection' },
        { name: 'event_loop', ok: true },
        { name: 'revocations', ok: true, degraded: true, detail: 'they do not arrive' },
      ],
      [
        { name: 'keys', ok: true, degraded: true, detail: 'not fetched since' },
        { name: 'redis', ok: true, degraded: true, detail: 'it does not respond' },
        { name: 'event_loop', ok: true },
      ],
    ]),
    [
      { name: 'keys', ok: true, degraded: true, detail: '2 of 3 workers: never fetched' },
      { name: 'redis', ok: true, degraded: true, detail: '2 of 3 workers: no connection' },
      { name: 'event_loop', ok: true },
      { name: 'revocations', ok: true, degraded: true, detail: '1 of 3 workers: they do not arrive' },
    ],
  )
  t.strictSame(mergeChecks([]), [], 'no worker has responded')
  t.strictSame(mergeChecks([[{ name: 'a', ok: false }]]), [
    { name: 'a', ok: true, degraded: true, detail: '1 of 1 workers: failed' },
  ])
  t.end()
})
