import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { BenchError } from '../bench-error.ts'
import { checkOut } from '../check-out.ts'
import { type Cleanup, createCleanup } from '../cleanup.ts'
import { CONNECTIONS, type Load } from '../load/load.ts'
import { startLoad } from '../load/start-load.ts'
import { measureRound } from '../measure-round.ts'
import { describeSample, type Measured } from '../measure-rounds.ts'
import { obtainToken } from '../product/obtain-token.ts'
import { gatewaySubject, SCOPE } from '../product/start-gateway-subject.ts'
import { startProduct } from '../product/start-product.ts'
import { startSpanReceiver, tracingSettings } from '../product/start-span-receiver.ts'
import type { Bench, Row } from '../row.ts'
import type { Sample } from '../sample.ts'
import type { Subject } from '../subject.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

/**
 * Two processes with the same settings can differ by 20 %, because V8 optimizes and inlines other functions. So the row
 * starts new processes after this number of rounds.
 */
const ROUNDS_PER_PROCESS = 5
/** At 10 %, one request of ten records spans, so V8 optimizes the code of a span late. */
const WARM_UP_REQUESTS = 100_000
const WARM_UP_STEP_SECONDS = 2
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
    const measured = await measureNewProcesses(variants, { ...bench, start })
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

/** A running gateway with its own load generator. */
type Loaded = { readonly subject: Subject; readonly load: Load; readonly samples: Sample[] }

/**
 * Measures all variants at the same time on one processor, so that other load on the machine affects all variants
 * equally. After `ROUNDS_PER_PROCESS` rounds, starts new processes.
 */
async function measureNewProcesses(
  variants: readonly Variant[],
  options: Pick<Bench, 'rounds' | 'roundSeconds' | 'folder' | 'cleanup' | 'printProgress'> & {
    start(
      variant: Variant,
      own: { readonly folder: string; readonly cleanup: Cleanup },
    ): Promise<Pick<Loaded, 'subject' | 'load'>>
  },
): Promise<readonly Measured[]> {
  const { rounds, roundSeconds, printProgress } = options
  const measured = variants.map((variant) => ({ variant, samples: [] as Sample[] }))
  for (let done = 0; done < rounds; done += ROUNDS_PER_PROCESS) {
    const cleanup = createCleanup()
    options.cleanup.add(cleanup.run)
    const gateways: readonly Loaded[] = await Promise.all(
      measured.map(async ({ variant, samples }) => {
        const folder = mkdtempSync(join(options.folder, 'gateway-'))
        return { ...(await options.start(variant, { folder, cleanup })), samples }
      }),
    )
    await warmUp(gateways)
    for (let round = done + 1; round <= Math.min(done + ROUNDS_PER_PROCESS, rounds); round++) {
      for (const [index, sample] of (await measureTogether(gateways, roundSeconds)).entries()) {
        const { samples, subject } = gateways[index] as Loaded
        samples.push(sample)
        printProgress(`round ${round}/${rounds}  ${describeSample(subject, sample)}`)
      }
    }
    await Promise.all(gateways.map(({ subject }) => subject.process.stop()))
    await cleanup.run()
  }
  return measured.map(({ variant, samples }) => ({ name: variant.name, samples }))
}

async function warmUp(gateways: readonly Loaded[]): Promise<void> {
  const requests = gateways.map(() => 0)
  while (requests.some((count) => count < WARM_UP_REQUESTS))
    for (const [index, sample] of (await measureTogether(gateways, WARM_UP_STEP_SECONDS)).entries())
      requests[index] = (requests[index] ?? 0) + sample.requests
}

async function measureTogether(gateways: readonly Loaded[], seconds: number): Promise<readonly Sample[]> {
  const samples = await Promise.all(gateways.map(({ subject, load }) => measureRound(subject, load, seconds)))
  const ownMicros = samples.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)
  return samples.map((sample) => ({
    ...sample,
    // Without the other gateways of this round.
    othersMicros: sample.othersMicros && Math.max(0, sample.othersMicros - (ownMicros - sample.cpuMicros)),
  }))
}
