import { BenchError } from '../bench-error.ts'
import { checkOut } from '../check-out.ts'
import type { Cleanup } from '../cleanup.ts'
import { CONNECTIONS } from '../load/load.ts'
import { startLoad } from '../load/start-load.ts'
import { measureNewProcesses, ROUNDS_PER_PROCESS } from '../measure-new-processes.ts'
import { obtainToken } from '../product/obtain-token.ts'
import { gatewaySubject, SCOPE } from '../product/start-gateway-subject.ts'
import { startProduct } from '../product/start-product.ts'
import { startSpanReceiver, tracingSettings } from '../product/start-span-receiver.ts'
import type { Row } from '../row.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

/** At 10 %, one request of ten records spans, so V8 optimizes the code of a span late. */
const WARM_UP_REQUESTS = 100_000
const OFF = 'tracing off'
const SAMPLED = 'tracing on, 10 % of the traces'
const ALL = 'tracing on, all traces'

/** Options of a gateway that differ between the subjects of this row. */
type Variant = { readonly name: string; readonly sampleRatio?: number; readonly checkout?: string }

/**
 * The cost of tracing for a request with a cached token. With `--previous REVISION`, the row measures the gateway of
 * that revision without tracing, and does not measure tracing with all traces.
 */
export const tracing: Row = {
  name: 'tracing',
  run: async (bench) => {
    const { cores, cleanup, previous: revision } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder: bench.folder, cleanup })
    const generator = await startLoad({ cores: cores?.others, folder: bench.folder, cleanup })
    const receiver = await startSpanReceiver(cleanup)
    const product = await startProduct({ cores, folder: bench.folder, cleanup, upstream: upstream.url })
    const token = await obtainToken(product, SCOPE)
    await product.gateway.stop()
    const start = async (
      { name, sampleRatio, checkout }: Variant,
      own: { readonly folder: string; readonly cleanup: Cleanup },
    ) => {
      const load = await startLoad({ cores: cores?.others, ...own })
      const gateway = await product.startGateway({
        ...own,
        checkout,
        settings: sampleRatio === undefined ? {} : tracingSettings(receiver.url, sampleRatio),
      })
      const subject = gatewaySubject(gateway, { name, cores, token })
      const { url, headers } = subject.target
      // Without this request, the first request of each connection would miss the token cache.
      await (await fetch(url, { headers })).arrayBuffer()
      return { load, subject }
    }
    const previous = `revision ${revision}, without tracing`
    const variants: readonly Variant[] = [
      { name: OFF },
      { name: SAMPLED, sampleRatio: 0.1 },
      revision === undefined
        ? { name: ALL, sampleRatio: 1 }
        : { name: previous, checkout: checkOut(revision, bench) },
    ]
    const measured = await measureNewProcesses(variants, {
      ...bench,
      warmUpRequests: WARM_UP_REQUESTS,
      start,
    })
    if (receiver.exports() === 0)
      throw new BenchError('ERR_BENCH_INCOMPLETE', 'the gateways sent no spans to the receiver')
    return {
      title: 'Tracing: GET with a cached token',
      conditions: {
        load: `${generator.name}, ${CONNECTIONS} connections to each gateway, to all gateways at the same time`,
        upstream: upstream.name,
        processes: `new after ${ROUNDS_PER_PROCESS} rounds, each with a warm-up of ${WARM_UP_REQUESTS} requests`,
        receiver: 'OTLP over HTTP on 127.0.0.1, in the process of the benchmark',
        ...(revision === undefined ? { 'not measured': 'a previous revision (--previous REVISION)' } : {}),
      },
      measured,
      ratios: [
        ...(revision === undefined ? [] : [{ of: OFF, to: previous, goal: 1.03 }]),
        { of: SAMPLED, to: OFF, goal: 1.1 },
        ...(revision === undefined ? [{ of: ALL, to: OFF, goal: undefined }] : []),
      ],
    }
  },
}
