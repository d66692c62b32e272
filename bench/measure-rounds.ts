import type { Load } from './load/load.ts'
import { measureRound } from './measure-round.ts'
import { cpuPerRequest, type Sample } from './sample.ts'
import type { Subject } from './subject.ts'

/** The samples are in the order of the rounds. */
export type Measured = { readonly name: string; readonly samples: readonly Sample[] }

/**
 * Warms up every subject. Then measures the subjects alternately (A B C, A B C, …), so that other load on the machine
 * affects all subjects equally. Duration: subjects * (warmUpSeconds + rounds * roundSeconds) seconds.
 * @throws {BenchError} the errors of measureRound(). One wrong response ends the benchmark.
 */
export async function measureRounds(options: {
  readonly subjects: readonly Subject[]
  readonly load: Load
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  readonly printProgress: (text: string) => void
}): Promise<readonly Measured[]> {
  const { subjects, load, printProgress } = options
  for (const subject of subjects) {
    const sample = await measureRound(subject, load, options.warmUpSeconds)
    printProgress(`warm-up    ${describeSample(subject, sample)}`)
  }
  const measured = subjects.map((subject) => ({ name: subject.name, samples: [] as Sample[] }))
  for (let round = 1; round <= options.rounds; round++) {
    for (const [index, subject] of subjects.entries()) {
      const sample = await measureRound(subject, load, options.roundSeconds)
      measured[index]?.samples.push(sample)
      printProgress(`round ${round}/${options.rounds}  ${describeSample(subject, sample)}`)
    }
  }
  return measured
}

/** Returns the progress of a benchmark, for a terminal. */
export function describeSample({ name }: Pick<Subject, 'name'>, sample: Sample): string {
  const perSecond = Math.round(sample.requests / (sample.elapsedMs / 1000))
  return `${cpuPerRequest(sample).toFixed(1).padStart(6)} µs CPU per request, ${String(perSecond).padStart(6)} requests/s   ${name}`
}
