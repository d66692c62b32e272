import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SpanKind } from '@opentelemetry/api'
import t, { type Test } from 'tap'
import { RecordedSpan } from '../../../platform/tracing/recorded-span.ts'
import { SpanQueue } from '../../../platform/tracing/span-queue.ts'

/** Creates a queue whose exports end only when the test settles their promises. */
function openQueue(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const exports: (PromiseWithResolvers<number> & { readonly spans: number })[] = []
  const counts = { exported: 0, queue_full: 0, export_failed: 0 }
  const queue = new SpanQueue({
    encoder: { add() {}, take: () => Buffer.alloc(0) },
    exporter: {
      export({ spans }) {
        const settlement = Promise.withResolvers<number>()
        exports.push({ ...settlement, spans })
        return settlement.promise
      },
      async close() {
        void setImmediate().then(() => exports[0]?.reject(new Error('closed')))
      },
    },
    meter: {
      exported(count) {
        counts.exported += count
      },
      dropped(reason, count) {
        counts[reason] += count
      },
    },
    logger: { info() {}, warn() {} },
    endpoint: 'http://receiver.test',
  })
  const add = (count: number) => {
    for (let at = 0; at < count; at += 1)
      new RecordedSpan(
        { onEnd: (span) => queue.add(span) },
        { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceState: '' },
        { name: 'test', kind: SpanKind.SERVER, parent: undefined },
      ).end()
  }
  return { queue, exports, counts, add }
}

t.test('exports the spans that end during a slow export', async (t) => {
  const { exports, add } = openQueue(t)
  add(1)
  mock.timers.tick(1_000)
  add(1)
  mock.timers.tick(1_000)
  t.equal(exports.length, 1, 'one export at a time')
  exports[0]?.resolve(0)
  await setImmediate()
  mock.timers.tick(1_000)
  t.strictSame(
    exports.map(({ spans }) => spans),
    [1, 1],
  )
})

for (const [name, spans] of [
  ['an incomplete batch', 1_030],
  ['complete batches', 3_000],
] as const)
  t.test(`counts each span once after a shutdown with a silent receiver and ${name}`, async (t) => {
    const { queue, exports, counts, add } = openQueue(t)
    add(spans)
    const closed = queue.close()
    mock.timers.tick(2_000)
    await closed
    t.equal(exports.length, 1)
    t.strictSame(counts, { exported: 0, queue_full: 0, export_failed: spans })
  })

t.test('counts the spans above the limit of the queue, and exports the others once', async (t) => {
  const { queue, exports, counts, add } = openQueue(t)
  add(1_024 + 4_096 + 5)
  t.equal(counts.queue_full, 5)
  const closed = queue.close()
  for (let at = 0; at < 5; at += 1) {
    exports[at]?.resolve(0)
    await setImmediate()
  }
  await closed
  t.strictSame(
    exports.map((one) => one.spans),
    [1_024, 1_024, 1_024, 1_024, 1_024],
  )
  t.strictSame(counts, { exported: 1_024 + 4_096, queue_full: 5, export_failed: 0 })
})
