import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { BenchError } from '../bench-error.ts'
import { checkOut } from '../check-out.ts'
import type { Cleanup } from '../cleanup.ts'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import type { Subject } from '../subject.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

/** At 10 %, one request of ten records spans, so V8 optimizes the code of a span late. */
const WARM_UP_SECONDS = 20
const OFF = 'tracing off'
const SAMPLED = 'tracing on, 10 % of the traces'
const ALL = 'tracing on, all traces'

/**
 * The cost of tracing for a request with a cached token. With `--previous REVISION`, the row also measures the gateway
 * of that revision without tracing.
 */
export const tracing: Row = {
  name: 'tracing',
  run: async (bench) => {
    const { cores, cleanup } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder: bench.folder, cleanup })
    const load = await startLoad({ cores: cores?.others, folder: bench.folder, cleanup })
    const receiver = await startReceiver(cleanup)
    const gateway = (
      name: string,
      { sampleRatio, checkout }: { readonly sampleRatio?: number; readonly checkout?: string } = {},
    ): Promise<Subject> => {
      const folder = join(bench.folder, name.replaceAll(/\W+/g, '-'))
      mkdirSync(folder)
      const settings: Record<string, string> =
        sampleRatio === undefined
          ? {}
          : {
              SCOPEGATE_TRACING__ENDPOINT: receiver.url,
              SCOPEGATE_TRACING__SAMPLE_RATIO: String(sampleRatio),
            }
      return startGatewaySubject({ name, cores, folder, cleanup, upstream: upstream.url, settings, checkout })
    }
    const revision = bench.previous
    const previous = revision === undefined ? undefined : `revision ${revision}, without tracing`
    const subjects = [
      ...(revision === undefined || previous === undefined
        ? []
        : [await gateway(previous, { checkout: checkOut(revision, bench) })]),
      await gateway(OFF),
      await gateway(SAMPLED, { sampleRatio: 0.1 }),
      await gateway(ALL, { sampleRatio: 1 }),
    ]
    const measured = await measureRounds({ ...bench, warmUpSeconds: WARM_UP_SECONDS, subjects, load })
    if (receiver.exports() === 0)
      throw new BenchError('ERR_BENCH_INCOMPLETE', 'the gateways sent no spans to the receiver')
    return {
      title: 'Tracing: GET with a cached token',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        'warm-up': `${WARM_UP_SECONDS} s`,
        receiver: 'OTLP over HTTP on 127.0.0.1, in the process of the benchmark',
        ...(previous === undefined ? { 'not measured': 'a previous revision (--previous REVISION)' } : {}),
      },
      measured,
      ratios: [
        ...(previous === undefined ? [] : [{ of: OFF, to: previous, goal: 1.03 }]),
        { of: SAMPLED, to: OFF, goal: 1.1 },
        { of: ALL, to: OFF, goal: undefined },
      ],
    }
  },
}

/** Starts an OTLP receiver that accepts all spans and only counts the exports. */
async function startReceiver(cleanup: Cleanup): Promise<{ readonly url: string; exports(): number }> {
  let exports = 0
  const server = createServer((request, response) => {
    exports += 1
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanup.add(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, exports: () => exports }
}
