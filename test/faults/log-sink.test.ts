import { closeSync, openSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { startBodyUpstream } from '../../bench/soak/start-body-upstream.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { aFifo } from '../fixtures/a-fifo.ts'
import { findFieldFaults } from '../fixtures/find-field-faults.ts'
import { until } from '../fixtures/until.ts'

/** Part of the path of each request. About 1,200 access lines with this path fill the log buffer of 8 MiB. */
const LONG = 'x'.repeat(7_000)
const REQUESTS = 2_000
const AT_ONCE = 20

async function start(t: Test, stdout: number): Promise<SoakGateway> {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const upstream = await startBodyUpstream(cleanup)
  return startSoakGateway({ folder: t.testdir(), cleanup, upstream, stdout })
}

/** Sends requests. Each request causes one log line and must get a response. */
async function ask(t: Test, gateway: SoakGateway, requests: number): Promise<void> {
  let next = 0
  let answered = 0
  const one = async (): Promise<void> => {
    for (let n = next++; n < requests; n = next++) {
      const answer = await fetch(`${gateway.url}/pub/n${n}/${LONG}?bytes=2`)
      await answer.text()
      if (answer.status === 200) answered += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  t.equal(answered, requests, 'every request got a response')
}

const dropped = async (gateway: SoakGateway): Promise<number> =>
  sumSamples(
    await (await fetch(`${gateway.managementUrl}/metrics`)).text(),
    'scopegate_log_lines_dropped_total',
  )

type Line = { readonly event: string; readonly lines?: number }
const parse = (text: string): readonly Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

t.test(
  'with a blocked log reader, serves requests, bounds memory and counts every dropped line',
  async (t) => {
    const pipe = aFifo(t)
    const gateway = await start(t, pipe.writer)
    pipe.handOver()
    await ask(t, gateway, REQUESTS)
    const before = await until('lines were dropped', async () => (await dropped(gateway)) || undefined)
    t.ok(before > 0 && before < REQUESTS, `${before} lines were dropped`)

    const read = pipe.read()
    await until(
      'the notice came',
      async () => read().includes('"log_lines_dropped"') && read().endsWith('\n'),
    )
    await ask(t, gateway, 1)
    await until(
      'the next request is logged',
      async () => /\/pub\/n0\/.*\/pub\/n0\//s.test(read()) && read().endsWith('\n'),
    )

    const lines = parse(read())
    const written = lines.filter(({ event }) => event === 'access').length
    const reported = lines.reduce(
      (sum, { event, lines }) => sum + (event === 'log_lines_dropped' ? (lines ?? 0) : 0),
      0,
    )
    const counted = await dropped(gateway)
    t.equal(written + counted, REQUESTS + 1, 'written and dropped lines are all lines')
    t.equal(reported, counted, 'the notices say the same')
    t.same(findFieldFaults(lines), [], 'T12: each line has exactly the fields of its event')
  },
)

t.test('the gateway exits while its log reader is blocked', async (t) => {
  const pipe = aFifo(t)
  const gateway = await start(t, pipe.writer)
  pipe.handOver()
  await ask(t, gateway, 50) // more than the buffer of a pipe
  gateway.process.child.kill('SIGTERM')
  await gateway.process.ended
  t.equal(gateway.process.child.exitCode, 0)
})

t.test('counts every dropped line after the log reader exits', async (t) => {
  const pipe = aFifo(t)
  const gateway = await start(t, pipe.writer)
  pipe.handOver()
  const read = pipe.read()
  await until('the first lines arrived', async () => read().includes('"listening"'))
  pipe.leave()
  await ask(t, gateway, 100)
  await until('the dropped lines are counted', async () => (await dropped(gateway)) === 100)
  t.equal(gateway.process.child.exitCode, null)
})

t.test('counts every dropped line when the disk is full', async (t) => {
  const full = openSync('/dev/full', 'w')
  const gateway = await start(t, full)
  closeSync(full)
  const atStart = await until(
    'the first lines are counted',
    async () => (await dropped(gateway)) || undefined,
  )
  await ask(t, gateway, 100)
  await until('the dropped lines are counted', async () => (await dropped(gateway)) === atStart + 100)
  t.equal(gateway.process.child.exitCode, null)
})
