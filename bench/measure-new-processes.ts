import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, createCleanup } from './cleanup.ts'
import type { Load } from './load/load.ts'
import { measureRound } from './measure-round.ts'
import { describeSample, type Measured } from './measure-rounds.ts'
import type { Bench } from './row.ts'
import type { Sample } from './sample.ts'
import type { Subject } from './subject.ts'

/**
 * Two processes with the same settings can differ by 20 %, because V8 optimizes and inlines other functions. So a row
 * starts new processes after this number of rounds.
 */
export const ROUNDS_PER_PROCESS = 5
const WARM_UP_STEP_SECONDS = 2

/** A running gateway with its own load generators. */
export type Loaded = {
  readonly subject: Subject
  readonly load: Load
  /** The load of the warm-up. Default: `load`. */
  readonly warmUpLoad?: Load
}

/**
 * Measures all variants at the same time on one processor, so that other load on the machine affects all variants
 * equally. After `ROUNDS_PER_PROCESS` rounds, starts new processes.
 * @param options.warmUpRequests number of requests that each gateway gets before its first round.
 */
export async function measureNewProcesses<V extends { readonly name: string }>(
  variants: readonly V[],
  options: Pick<Bench, 'rounds' | 'roundSeconds' | 'folder' | 'cleanup' | 'printProgress'> & {
    readonly warmUpRequests: number
    start(variant: V, own: { readonly folder: string; readonly cleanup: Cleanup }): Promise<Loaded>
  },
): Promise<readonly Measured[]> {
  const { rounds, roundSeconds, printProgress } = options
  const measured = variants.map((variant) => ({ variant, samples: [] as Sample[] }))
  for (let done = 0; done < rounds; done += ROUNDS_PER_PROCESS) {
    const cleanup = createCleanup()
    options.cleanup.add(cleanup.run)
    const gateways = await Promise.all(
      measured.map(({ variant }) => {
        const folder = mkdtempSync(join(options.folder, 'gateway-'))
        return options.start(variant, { folder, cleanup })
      }),
    )
    await warmUp(gateways, options.warmUpRequests)
    for (let round = done + 1; round <= Math.min(done + ROUNDS_PER_PROCESS, rounds); round++) {
      for (const [index, sample] of (await measureTogether(gateways, roundSeconds)).entries()) {
        measured[index]?.samples.push(sample)
        printProgress(
          `round ${round}/${rounds}  ${describeSample((gateways[index] as Loaded).subject, sample)}`,
        )
      }
    }
    await Promise.all(gateways.map(({ subject }) => subject.process.stop()))
    await cleanup.run()
  }
  return measured.map(({ variant, samples }) => ({ name: variant.name, samples }))
}

async function warmUp(gateways: readonly Loaded[], enough: number): Promise<void> {
  const warmed = gateways.map(({ subject, load, warmUpLoad = load }) => ({ subject, load: warmUpLoad }))
  const requests = gateways.map(() => 0)
  while (requests.some((count) => count < enough))
    for (const [index, sample] of (await measureTogether(warmed, WARM_UP_STEP_SECONDS)).entries())
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
