import { formatFigures } from './format-figures.ts'
import { formatGoal } from './format-goal.ts'
import type { Measured } from './measure-rounds.ts'
import type { RowResult } from './row.ts'
import { cpuPerRequest } from './sample.ts'
import { type Summary, summarise } from './summarise.ts'

const OTHERS_TOLERATED = 0.02 // allowed share of other programs in the time of the server's processor

/**
 * Formats the result of a row for a terminal. The result contains:
 * - the CPU time per request of every subject
 * - the ratios of two subjects: minimum, quartiles and maximum of the rounds, and the target
 * - other figures
 */
export function formatResult(result: RowResult): string {
  const width = Math.max(...result.measured.map(({ name }) => name.length), ...result.ratios.map(ratioWidth))
  const lines = result.measured.map((measured) => formatMeasured(measured, width))
  const ratios = result.ratios.map((ratio) => {
    const figures = pairUp(result.measured, ratio.of, ratio.to)
    const found = summarise(figures)
    const ofMinima = ratioOfMinima(result.measured, ratio.of, ratio.to)?.toFixed(2) ?? ''
    return `  ${`${ratio.of} / ${ratio.to}`.padEnd(width)}  ${formatSummary(found, 2)}   ${ofMinima.padStart(9)}${formatGoal(found.median, ratio.goal)}`
  })
  const conditions = Object.entries(result.conditions).map(([name, value]) => `  ${name}: ${value}`)
  const head = [result.title, ...conditions]
  const figures = formatFigures(result.figures ?? [])
  if (result.measured.length === 0) return [...head, ...figures, ''].join('\n')
  return [
    ...head,
    `  ${'CPU µs per request'.padEnd(width)}  ${SUMMARY_HEAD}   requests/s   core busy`,
    ...lines,
    `  ${'ratio of CPU per request, round by round'.padEnd(width)}  ${SUMMARY_HEAD}   of minima`,
    ...ratios,
    ...figures,
    ...warnOfOthers(result.measured),
    '',
  ].join('\n')
}

/** Returns the ratio of the CPU time per request of two subjects, for each round. */
export function pairUp(measured: readonly Measured[], of: string, to: string): number[] {
  const samplesOf = (name: string): Measured['samples'] =>
    measured.find((each) => each.name === name)?.samples ?? []
  const others = samplesOf(to)
  return samplesOf(of).flatMap((sample, index) => {
    const other = others[index]
    return other === undefined ? [] : [cpuPerRequest(sample) / cpuPerRequest(other)]
  })
}

/**
 * Returns the ratio of the smallest CPU times per request of two subjects. The smallest value has the least distortion,
 * because other programs can only increase a CPU time.
 */
export function ratioOfMinima(measured: readonly Measured[], of: string, to: string): number | undefined {
  const minimumOf = (name: string): number | undefined => {
    const samples = measured.find((each) => each.name === name)?.samples ?? []
    return samples.length === 0 ? undefined : summarise(samples.map(cpuPerRequest)).min
  }
  const [one, other] = [minimumOf(of), minimumOf(to)]
  return one === undefined || other === undefined ? undefined : one / other
}

function formatMeasured({ name, samples }: Measured, width: number): string {
  const rate = summarise(samples.map(({ requests, elapsedMs }) => requests / (elapsedMs / 1000))).median
  const busy = summarise(samples.map(({ cpuMicros, elapsedMs }) => cpuMicros / (elapsedMs * 1000))).median
  const perRequest = formatSummary(summarise(samples.map(cpuPerRequest)), 1)
  return `  ${name.padEnd(width)}  ${perRequest}   ${rate.toFixed(0).padStart(10)}   ${(busy * 100).toFixed(0).padStart(7)} %`
}

/**
 * Returns a warning if other programs used more than 2 % of the server's processor. Other programs displace the
 * server's data from the processor caches and distort the figures.
 */
function warnOfOthers(measured: readonly Measured[]): string[] {
  const shares = measured.flatMap(({ samples }) =>
    samples.map(({ othersMicros = 0, elapsedMs }) => othersMicros / (elapsedMs * 1000)),
  )
  const share = summarise(shares).median
  if (share <= OTHERS_TOLERATED) return []
  return [
    `  NOISE: other programs took ${(share * 100).toFixed(0)} % of the server's processor; measure again on an idle machine`,
  ]
}

const SUMMARY_HEAD = ['min', '25 %', 'median', '75 %', 'max'].map((head) => head.padStart(8)).join(' ')

function formatSummary(summary: Summary, digits: number): string {
  const { min, lowerQuartile, median, upperQuartile, max } = summary
  return [min, lowerQuartile, median, upperQuartile, max]
    .map((figure) => figure.toFixed(digits).padStart(8))
    .join(' ')
}

function ratioWidth({ of, to }: RowResult['ratios'][number]): number {
  return of.length + to.length + ' / '.length
}
