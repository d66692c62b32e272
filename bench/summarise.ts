export type Summary = {
  readonly min: number
  /** Half of the figures are between the two quartiles. */
  readonly lowerQuartile: number
  readonly median: number
  readonly upperQuartile: number
  readonly max: number
}

/** Requires one or more figures. A quantile between two figures is interpolated. */
export function summarise(figures: readonly number[]): Summary {
  const sorted = figures.toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? Number.NaN
  const quantile = (share: number): number => {
    const place = (sorted.length - 1) * share
    const below = Math.floor(place)
    return at(below) + (at(Math.ceil(place)) - at(below)) * (place - below)
  }
  return {
    min: at(0),
    lowerQuartile: quantile(0.25),
    median: quantile(0.5),
    upperQuartile: quantile(0.75),
    max: at(sorted.length - 1),
  }
}
