import { BenchError } from '../bench-error.ts'
import { checkOut } from '../check-out.ts'
import type { Cleanup } from '../cleanup.ts'
import { createPacedLoad } from '../load/paced-load.ts'
import { startLoad } from '../load/start-load.ts'
import { measureNewProcesses, ROUNDS_PER_PROCESS } from '../measure-new-processes.ts'
import { obtainToken } from '../product/obtain-token.ts'
import { readConsole } from '../product/read-console.ts'
import { gatewaySubject, SCOPE } from '../product/start-gateway-subject.ts'
import { startProduct } from '../product/start-product.ts'
import type { Row } from '../row.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const PER_SECOND = 1_000
const WARM_UP_REQUESTS = 30_000
const CLOSED = 'console closed'
const OPEN = 'console open: overview and decisions'
const OFF = 'console disabled'

/** Options of a gateway that differ between the subjects of this row. */
type Variant = {
  readonly name: string
  readonly settings?: Record<string, string>
  readonly checkout?: string
}

/**
 * The cost of the console for a request with a cached token, at a fixed rate. With `--previous REVISION`, the row
 * measures the gateway of that revision, and does not measure a gateway without a console.
 */
export const consoleRow: Row = {
  name: 'console',
  run: async (bench) => {
    const { cores, cleanup, previous: revision } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder: bench.folder, cleanup })
    const product = await startProduct({ cores, folder: bench.folder, cleanup, upstream: upstream.url })
    const token = await obtainToken(product, SCOPE)
    await product.gateway.stop()
    const readers: { readonly updates: () => number }[] = []
    const start = async (
      { name, settings, checkout }: Variant,
      own: { readonly folder: string; readonly cleanup: Cleanup },
    ) => {
      const warmUpLoad = await startLoad({ cores: cores?.others, ...own })
      const gateway = await product.startGateway({ ...own, checkout, settings })
      const subject = gatewaySubject(gateway, { name, cores, token })
      const { url, headers } = subject.target
      // Without this request, the first request of each connection would miss the token cache.
      await (await fetch(url, { headers })).arrayBuffer()
      if (name === OPEN) readers.push(await readConsole(gateway.managementUrl, own.cleanup))
      return { subject, load: createPacedLoad(PER_SECOND), warmUpLoad }
    }
    const previous = `revision ${revision}`
    const variants: readonly Variant[] = [
      { name: CLOSED },
      { name: OPEN },
      revision === undefined
        ? { name: OFF, settings: { SCOPEGATE_MANAGEMENT__CONSOLE: 'false' } }
        : { name: previous, checkout: checkOut(revision, bench) },
    ]
    const measured = await measureNewProcesses(variants, {
      ...bench,
      warmUpRequests: WARM_UP_REQUESTS,
      start,
    })
    if (readers.some(({ updates }) => updates() === 0))
      throw new BenchError('ERR_BENCH_INCOMPLETE', 'a console sent no live updates')
    return {
      title: 'Console: GET with a cached token',
      conditions: {
        load: `${PER_SECOND} requests per second to each gateway, to all gateways at the same time`,
        upstream: upstream.name,
        processes: `new after ${ROUNDS_PER_PROCESS} rounds, each with a warm-up of ${WARM_UP_REQUESTS} requests`,
        console:
          'the live updates of the overview and of the decisions, read by the process of the benchmark',
        ...(revision === undefined ? { 'not measured': 'a previous revision (--previous REVISION)' } : {}),
      },
      measured,
      ratios: [
        { of: OPEN, to: CLOSED, goal: 1.05 },
        revision === undefined
          ? { of: CLOSED, to: OFF, goal: undefined }
          : { of: CLOSED, to: previous, goal: 1.03 },
      ],
    }
  },
}
