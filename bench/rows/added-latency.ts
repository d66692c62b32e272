import { runPaced } from '../load/paced-load.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const PER_SECOND = 1_000

/**
 * The row compares latencies with and without the gateway. At the request rate of this row, gateway and upstream are
 * idle most of the time.
 */
export const addedLatency: Row = {
  name: 'added-latency',
  run: async ({ cores, folder, cleanup, rounds, roundSeconds, warmUpSeconds, printProgress }) => {
    const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
    const gateway = await startGatewaySubject({
      name: 'gateway',
      cores,
      folder,
      cleanup,
      upstream: upstream.url,
    })
    const through = gateway.target
    const directly = { ...through, url: `${upstream.url}${new URL(through.url).pathname}` }
    await runPaced(through, { perSecond: PER_SECOND, seconds: warmUpSeconds })
    const found: {
      readonly p50: number
      readonly p99: number
      readonly own50: number
      readonly own99: number
    }[] = []
    for (let round = 1; round <= rounds; round++) {
      const own = await runPaced(directly, { perSecond: PER_SECOND, seconds: roundSeconds })
      const all = await runPaced(through, { perSecond: PER_SECOND, seconds: roundSeconds })
      const own50 = percentile(own, 0.5)
      const own99 = percentile(own, 0.99)
      found.push({ p50: percentile(all, 0.5) - own50, p99: percentile(all, 0.99) - own99, own50, own99 })
      printProgress(
        `round ${round}/${rounds}  median through the gateway ${percentile(all, 0.5).toFixed(2)} ms`,
      )
    }
    return {
      title: `Added latency at ${PER_SECOND} requests/s: latency through the gateway minus latency of direct requests to the upstream`,
      conditions: {
        load: 'an open loop in the process of the benchmark, one request per millisecond',
        upstream: upstream.name,
      },
      measured: [],
      ratios: [],
      figures: [
        {
          name: 'direct requests to the upstream, p50',
          unit: 'ms',
          found: found.map(({ own50 }) => own50),
          goal: undefined,
        },
        {
          name: 'direct requests to the upstream, p99',
          unit: 'ms',
          found: found.map(({ own99 }) => own99),
          goal: undefined,
        },
        { name: 'added, p50', unit: 'ms', found: found.map(({ p50 }) => p50), goal: 1 },
        { name: 'added, p99', unit: 'ms', found: found.map(({ p99 }) => p99), goal: 5 },
      ],
    }
  },
}

function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}
